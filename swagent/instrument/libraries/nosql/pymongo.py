"""pymongo, its asyncio client, and what is built on them, such as Motor: a listener to the commands of all clients.

It hears of a command in the task or thread that waits for it, so the span has the caller's context. It does not hear of
a command whose wait was cancelled; that is seen where the connection gives up. A command that the driver tries again is
a command more. Commands that the driver sends on its own account (hellos, credentials, sessions) have no span.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from itertools import islice
from typing import Any
from weakref import WeakValueDictionary

from ....record.bounded_cache import remembered
from ....record.limits import as_text, name_of, short
from ....record.trace.model import Component, Layer
from ....record.trace.span import Span
from ...address import place_of
from ...arguments import Args, Kwargs, argument
from ...call import begin_call, end_call, outer_call, safely
from ...excerpt import excerpt_of
from ...instrumentation import Instrumentation
from ...listeners import Listeners
from ...looking import before_call
from ...patches import Patches
from ...settings import current
from .mongo_pools import watch_pymongo

_PREFIX = "MongoDB/"
_OF_THE_DRIVER = frozenset(
    (
        "authenticate",
        "endSessions",
        "getnonce",
        "hello",
        "isMaster",
        "ismaster",
        "killCursors",
        "saslContinue",
        "saslStart",
    )
)
_ENVELOPE = frozenset(("lsid", "txnNumber", "$clusterTime", "$db", "$readPreference"))


class _Spans:
    """The spans of the commands that are under way, by their requests' ids."""

    def __init__(self) -> None:
        # weak: the end of a command that is given up is not reported, and its segment sees to the span
        self._open: WeakValueDictionary[int, Span] = WeakValueDictionary()
        self._listeners: Listeners | None = None

    def open(self, listeners: Listeners) -> None:
        """Begin spans from now on.

        :param listeners: get the driver's events
        """
        self._listeners = listeners

    def close(self) -> None:
        """Begin no more."""
        self._listeners = None

    def begin(self, event: Any) -> None:
        name: str = event.command_name
        listeners = self._listeners
        if listeners is None or name in _OF_THE_DRIVER:
            return
        tags = [("db.type", "MongoDB"), ("db.instance", short(as_text(event.database_name)))]
        command: Mapping[str, Any] = event.command
        collection = command.get("collection" if name == "getMore" else name)
        if isinstance(collection, str):
            tags.append(("db.collection", short(collection)))
        settings = current()
        if settings.mongo_parameters:
            tags.append(("db.statement", _shown(command, settings.mongo_parameters_max_length)))
        peer = place_of(*event.connection_id)
        span = begin_call(_operation(name), peer, Layer.DATABASE, Component.MONGODB, tuple(tags))
        if span is not None:
            self._open[event.request_id] = span
            if listeners.on_request is not None:
                listeners.on_request.show(span, lambda: event)

    def succeed(self, event: Any) -> None:
        span = self._open.pop(event.request_id, None)
        if span is not None:
            try:
                if "writeErrors" in event.reply:
                    span.error()
                if self._listeners is not None and self._listeners.on_response is not None:
                    self._listeners.on_response.show(span, lambda: event)
            finally:
                span.stop()

    def fail(self, event: Any) -> None:
        span = self._open.pop(event.request_id, None)
        if span is not None:
            # the driver reports it while the exception is handled
            error = sys.exc_info()[1]
            if error is None:
                span.error()
            end_call(span, error)


_spans = _Spans()
"""One for the process: a client that was made before the hook is called again goes on."""


def _hook(module: Any, patches: Patches) -> None:
    if module.__name__ == "pymongo.monitoring":
        _listen(module, patches)
        return
    # where the classes of a connection are, and what they are called, has changed
    for name in ("SocketInfo", "Connection", "AsyncConnection"):
        connection = getattr(module, name, None)
        if connection is not None and connection.__module__ == module.__name__:
            patches.wrap(connection, "_raise_connection_failure", before_call(_note_failure))
    pool = getattr(module, "Pool", None)
    if pool is not None and pool.__module__ == module.__name__:
        watch_pymongo(patches, pool)


def _listen(module: Any, patches: Patches) -> None:
    class Listener(module.CommandListener):  # type: ignore[misc, name-defined, unused-ignore]
        """Hears of the commands of all clients that are made from now on."""

        def started(self, event: Any) -> None:
            safely(_spans.begin, event)

        def succeeded(self, event: Any) -> None:
            safely(_spans.succeed, event)

        def failed(self, event: Any) -> None:
            safely(_spans.fail, event)

    listener = Listener()
    listeners = module._LISTENERS.command_listeners  # noqa: SLF001  (there is a way in, and none out)
    module.register(listener)
    _spans.open(patches.listeners)
    patches.on_undo(partial(listeners.remove, listener))
    # clients that were made meanwhile keep it
    patches.on_undo(_spans.close)


def _note_failure(_: object, args: Args, kwargs: Kwargs) -> None:
    error = argument(args, kwargs, 0, "error")
    if not isinstance(error, Exception):
        _given_up(error)


def _given_up(error: BaseException) -> None:
    span = outer_call()
    if span is not None and span.name.startswith(_PREFIX):
        end_call(span, error)


@remembered(256)
def _operation(command: str) -> str:
    return name_of(f"{_PREFIX}{command.capitalize()}Operation")


def _shown(command: Mapping[str, Any], length: int) -> str:
    asked = ((key, command[key]) for key in command if key not in _ENVELOPE)
    parts = (f"{key}: {excerpt_of(value, length)}" for key, value in islice(asked, 20))
    return short(", ".join(parts), max(length, 16))


INSTRUMENTATION = Instrumentation(
    name="pymongo",
    module="pymongo.monitoring",
    hook=_hook,
    versions=">=4.1,<5",
    plugins=("sw_pymongo",),
    also=("pymongo.pool", "pymongo.synchronous.pool", "pymongo.asynchronous.pool"),
    opentelemetry=("pymongo",),
    shows_calls=True,
)
