"""Takes the items of one request into the store, and says which of them it could not take."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anyio.lowlevel

from ...store.records import Properties
from ...store.segment_index import index
from ...store.store import Store
from .logs import line_of
from .metrics import meters_of
from .origin import Origin, origin_of
from .spans import segment_of
from .wire import Item, message_class

_AT_ONCE = 20
"""Items that are taken before the loop runs: about a millisecond, if they are small."""
_REFUSED = {"traces": "rejected_spans", "logs": "rejected_log_records", "metrics": "rejected_data_points"}
_REPLIES = {
    "traces": "collector.trace.v1.ExportTraceServiceResponse",
    "logs": "collector.logs.v1.ExportLogsServiceResponse",
    "metrics": "collector.metrics.v1.ExportMetricsServiceResponse",
}
_MOST_INSTANCES = 1000


class OtlpIntake:
    """Takes requests of OTLP. One event loop."""

    def __init__(self, store: Store) -> None:
        self._store = store
        # the properties that were kept last, so that they are not kept again with each request
        self._known: dict[tuple[str, str], Origin] = {}

    async def take(self, signal: str, items: Iterator[Item]) -> Any:
        """Take the items of a request; the loop runs in between.

        :returns: the reply; an item that cannot be kept is refused in it, and the others are taken
        :raises ValueError: when the request is malformed; the items before that are taken
        :raises StoreError: when the store cannot be written
        """
        losses = self._store.losses
        refused = 0
        reason = ""
        last: Any = None
        origin = Origin("", "", ())
        for count, (resource, scope, item) in enumerate(items, 1):
            if resource is not last:
                last, origin = resource, origin_of(resource)
                self._note(origin)
            try:
                self._put(signal, origin, scope, item)
            except ValueError as error:
                refused, reason = refused + _points_of(signal, item), str(error)
            if not count % _AT_ONCE:
                await anyio.lowlevel.checkpoint()
        self._store.commit()
        self._store.check(losses)
        reply = message_class(_REPLIES[signal])()
        if refused:
            reply.partial_success.error_message = reason
            setattr(reply.partial_success, _REFUSED[signal], refused)
        return reply

    def _note(self, origin: Origin) -> None:
        """Keep the properties of an instance, if they are new."""
        key = origin.service, origin.instance
        if self._known.get(key) != origin:
            if len(self._known) >= _MOST_INSTANCES:
                self._known.clear()
            self._known[key] = origin
            self._store.add(Properties(*key, origin.properties, ""))

    def _put(self, signal: str, origin: Origin, scope: Any, item: Any) -> None:
        if signal == "traces":
            message = segment_of(origin, scope, item)
            self._store.add_segment(index(message, message.SerializeToString()))
        elif signal == "logs":
            self._store.add(line_of(origin, scope, item))
        else:
            for meter in list(meters_of(origin, item)):
                self._store.add(meter)


def _points_of(signal: str, item: Any) -> int:
    """How many items the reply counts: of a metric, its points."""
    data = item.WhichOneof("data") if signal == "metrics" else None
    return len(getattr(item, data).data_points) if data else 1
