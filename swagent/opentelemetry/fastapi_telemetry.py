"""FastAPI's own telemetry, which begins with each request as soon as FastAPI finds a provider.

The agent's middleware records the requests already, so the bridge keeps none of FastAPI's spans. FastAPI would make
them all the same, with the attributes of each, and take several times as long for that as the agent does for a request.
So the bridge's provider counts as none there. An exporter that FastAPI shall set up is then set up as without the
agent.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ..startup.import_hook import when_imported

_MODULES = ("fastapi.telemetry._asgi", "fastapi.telemetry._runtime")
_QUESTION = "_unconfigured"


class FastapiTelemetry:
    """The question that FastAPI's modules ask about a provider: is it a place that was left empty?"""

    def __init__(self, provider: object) -> None:
        """:param provider: the bridge's"""
        self._provider = provider
        self._is_waiting = self._is_off = False
        self._originals: list[tuple[ModuleType, Callable[..., object]]] = []

    def switch_off(self) -> None:
        """Have the question answered with yes for the bridge's provider, in modules that are imported later as well."""
        self._is_off = True
        if self._is_waiting:
            for name in _MODULES:
                self._replace(sys.modules.get(name))
            return
        self._is_waiting = True
        for name in _MODULES:
            when_imported(name, self._replace)

    def switch_on(self) -> None:
        """Give the modules their own question back."""
        self._is_off = False
        while self._originals:
            module, original = self._originals.pop()
            setattr(module, _QUESTION, original)

    def _replace(self, module: Any) -> None:
        original = getattr(module, _QUESTION, None)
        # a FastAPI that asks otherwise makes its spans, and the bridge leaves them out
        if not self._is_off or not callable(original):
            return

        def unconfigured(provider: Any) -> bool:
            return provider is self._provider or bool(original(provider))

        self._originals.append((module, original))
        setattr(module, _QUESTION, unconfigured)
