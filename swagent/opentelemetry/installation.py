"""Putting the bridge in place, and taking it out again.

OpenTelemetry's API has three places: its provider, its context, and its propagator. The bridge is in all three or
in none. A provider that was set before stays, and one that is set later gets the place: then the bridge steps back.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Collection
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ..agent_log import say

if TYPE_CHECKING:
    from .instrumentors import BridgeReport
    from .provider import BridgeProvider

_PROVIDER_VARIABLE = "OTEL_PYTHON_TRACER_PROVIDER"
_lock = threading.RLock()
_bridge: Bridge | None = None


def install(*, instrument: bool = True, covered: Collection[str] | None = None) -> bool:
    """Let what OpenTelemetry instrumentations record become native segments. A second call does nothing.

    :param instrument: whether every OpenTelemetry instrumentation that is installed is switched on as well
    :param covered: names of those that are left off; those that a native instrumentation makes unnecessary, when left
        out
    :returns: whether the bridge is in place: not without `opentelemetry-api`, nor where a provider has been set
    """
    global _bridge  # noqa: PLW0603, RUF100
    with _lock:
        bridge = _bridge or _new_bridge()
        if bridge is None or not bridge.take_places():
            return False
        _bridge = bridge
        if instrument and find_spec("opentelemetry.instrumentation") is not None:
            from .instrumentors import switch_on  # noqa: PLC0415, RUF100

            switch_on(covered_natively() if covered is None else covered)
        return True


def uninstall() -> None:
    """Let OpenTelemetry be as it was. A second call does nothing."""
    with _lock:
        if _bridge is not None and _bridge.is_in_place:
            _leave("by uninstall()")


def report() -> list[BridgeReport]:
    """The state of each OpenTelemetry instrumentation, by name; empty before `install()`."""
    if _bridge is None or find_spec("opentelemetry.instrumentation") is None:
        return []
    from .instrumentors import reports  # noqa: PLC0415, RUF100

    return reports()


def _leave(reason: str) -> None:
    if find_spec("opentelemetry.instrumentation") is not None:
        from .instrumentors import switch_off  # noqa: PLC0415, RUF100

        switch_off(reason)
    if _bridge is not None:
        _bridge.step_back()


def covered_natively() -> set[str]:
    """The OpenTelemetry instrumentations that a native one makes unnecessary."""
    from ..instrument.installation import covering  # noqa: PLC0415, RUF100

    return {name for each in covering() for name in each.opentelemetry}


def _new_bridge() -> Bridge | None:
    try:
        return Bridge()
    except ImportError:
        return None
    except AttributeError as error:
        # its places are not public, and another version may have others
        say(logging.WARNING, "the bridge does not fit this version of opentelemetry-api: %s", error)
        return None


class Bridge:
    """The three places, what was there before, and what is there now.

    :ivar is_in_place: whether the bridge is in place
    """

    def __init__(self) -> None:
        """:raises ImportError: OpenTelemetry's API is not installed
        :raises AttributeError: it has other places than this knows
        """
        from opentelemetry import context, propagate, trace  # noqa: PLC0415, RUF100

        from .fastapi_telemetry import FastapiTelemetry  # noqa: PLC0415, RUF100
        from .provider import BridgeProvider  # noqa: PLC0415, RUF100
        from .runtime_context import SharedContext  # noqa: PLC0415, RUF100

        self._trace: Any = trace
        self._context: Any = context
        self._propagate: Any = propagate
        self._shared = SharedContext(self._context._RUNTIME_CONTEXT)  # noqa: SLF001
        self.provider: BridgeProvider = BridgeProvider(self._shared)
        self._fastapi = FastapiTelemetry(self.provider)
        self._once: Any = self._trace._TRACER_PROVIDER_SET_ONCE  # noqa: SLF001
        self._former_propagator: Any = None
        self._propagator: Any = None
        self.is_in_place = False

    def take_places(self) -> bool:
        """Take the three places. False: a provider has been set."""
        if self.is_in_place:
            return True
        chosen = self._trace._TRACER_PROVIDER or os.environ.get(_PROVIDER_VARIABLE)  # noqa: SLF001
        if chosen:
            name = chosen if isinstance(chosen, str) else f"{type(chosen).__module__}.{type(chosen).__qualname__}"
            say(logging.INFO, "OpenTelemetry has a provider already (%s): its spans go there, and not here", name)
            return False
        from .propagator import beside  # noqa: PLC0415, RUF100

        self._shared.former = self._context._RUNTIME_CONTEXT  # noqa: SLF001
        self._former_propagator = self._propagate.get_global_textmap()
        self._propagator = beside(self._former_propagator, self._shared.has_values)
        self._propagate.set_global_textmap(self._propagator)
        self._context._RUNTIME_CONTEXT = self._shared  # noqa: SLF001
        self._once = self._trace._TRACER_PROVIDER_SET_ONCE  # noqa: SLF001
        self._trace._TRACER_PROVIDER_SET_ONCE = _Yielding(self._once, self.yield_to_other)  # noqa: SLF001
        self._trace._TRACER_PROVIDER = self.provider  # noqa: SLF001
        self.is_in_place = self.provider.is_open = True
        self._fastapi.switch_off()
        return True

    def step_back(self) -> None:
        """Give the three places back, where nothing else has taken them since."""
        self.is_in_place = self.provider.is_open = False
        self._fastapi.switch_on()
        if self._trace._TRACER_PROVIDER is self.provider:  # noqa: SLF001
            self._trace._TRACER_PROVIDER = None  # noqa: SLF001
        if isinstance(self._trace._TRACER_PROVIDER_SET_ONCE, _Yielding):  # noqa: SLF001
            self._trace._TRACER_PROVIDER_SET_ONCE = self._once  # noqa: SLF001
        if self._context._RUNTIME_CONTEXT is self._shared:  # noqa: SLF001
            self._context._RUNTIME_CONTEXT = self._shared.former  # noqa: SLF001
        if self._propagate.get_global_textmap() is self._propagator:
            self._propagate.set_global_textmap(self._former_propagator)

    def yield_to_other(self) -> None:
        """Step back before the application sets a provider of its own."""
        say(
            logging.INFO,
            "the application sets an OpenTelemetry provider: its spans go there, and the bridge steps back",
        )
        with _lock:
            _leave("since the application set a provider")


class _Yielding:
    """Replaces OpenTelemetry's note that a provider was set: the application may still set one."""

    def __init__(self, once: Any, step_back: Callable[[], None]) -> None:
        self._once = once
        self._step_back = step_back

    def do_once(self, function: Callable[[], None]) -> bool:
        """Step back, and let the provider be set."""
        self._step_back()
        return bool(self._once.do_once(function))
