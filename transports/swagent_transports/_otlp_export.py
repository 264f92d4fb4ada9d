"""From a batch of records to a request of OTLP, and from the reply to the number of records that were not taken.

A batch may take tens of milliseconds to translate, and the loop may be the application's: so it goes in slices.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

import anyio.lowlevel

from swagent.abc import Instance
from swagent.errors import RejectedError
from swagent.signals import Signal
from swagent_proto import otlp_wire

from ._otlp_logs import logs_of
from ._otlp_metrics import metrics_of
from ._otlp_reading import integer, nested, read, text
from ._otlp_resource import SCHEMA, Origin, joined, resource, scope
from ._otlp_spans import spans_of

_SLICE = 0.002
"""Seconds of work before the loop gets its turn."""
_MAX_TEXT = 200
_MOST_RESOURCES = 64


@dataclass(frozen=True)
class Export:
    """How one signal goes out.

    :ivar method: the path over gRPC
    :ivar path: the path over HTTP
    :ivar translate: the items of one record, and where they come from
    :ivar in_scope: an encoded ScopeSpans of them, or its counterpart
    :ivar in_resource: an encoded ResourceSpans, or its counterpart
    """

    method: str
    path: str
    translate: Callable[[bytes], tuple[Origin, list[bytes]]]
    in_scope: Callable[[bytes, Sequence[bytes], str], bytes]
    in_resource: Callable[[bytes, Sequence[bytes], str], bytes]


_SERVICE = "/opentelemetry.proto.collector."
TRACES = Export(
    f"{_SERVICE}trace.v1.TraceService/Export", "/v1/traces", spans_of, otlp_wire.scope_spans, otlp_wire.resource_spans
)
EXPORTS: Mapping[Signal, Export] = {
    Signal.SEGMENT: TRACES,
    Signal.LOG: Export(
        f"{_SERVICE}logs.v1.LogsService/Export", "/v1/logs", logs_of, otlp_wire.scope_logs, otlp_wire.resource_logs
    ),
    Signal.METER: Export(
        f"{_SERVICE}metrics.v1.MetricsService/Export",
        "/v1/metrics",
        metrics_of,
        otlp_wire.scope_metrics,
        otlp_wire.resource_metrics,
    ),
}


class Exporter:
    """Makes the requests of one transport."""

    def __init__(self) -> None:
        self._properties: Sequence[tuple[str, str]] = ()
        self._resources: dict[Origin, bytes] = {}
        self._scope = scope()

    def describe(self, instance: Instance) -> None:
        """Take the properties of the instance, which belong to the resource from now on."""
        if instance.properties != self._properties:
            self._properties = instance.properties
            self._resources.clear()

    async def request(self, export: Export, records: Sequence[bytes]) -> bytes:
        """The encoded request to export records.

        :raises RejectedError: when one of them cannot be read
        """
        found: dict[Origin, list[bytes]] = {}
        began = time.monotonic()
        for record in records:
            try:
                origin, items = export.translate(record)
            except ValueError as error:
                raise RejectedError(f"a record that cannot be read: {error}") from error
            found.setdefault(origin, []).extend(items)
            if time.monotonic() - began > _SLICE:
                await anyio.lowlevel.checkpoint()
                began = time.monotonic()
        return joined([self._in_resource(export, *each) for each in found.items()])

    def _in_resource(self, export: Export, origin: Origin, items: Sequence[bytes]) -> bytes:
        encoded = self._resources.get(origin)
        if encoded is None:
            if len(self._resources) >= _MOST_RESOURCES:
                self._resources.clear()
            encoded = self._resources[origin] = resource(origin, self._properties)
        return export.in_resource(encoded, [export.in_scope(self._scope, items, SCHEMA)], SCHEMA)


async def probe(call: Awaitable[object]) -> None:
    """Await an export without a span; raises as it does, but where the collector may take other signals."""
    try:
        await call
    except RejectedError as error:
        if not error.only_this_signal:
            raise


def check_reply(reply: bytes, count: int) -> None:
    """Look into the reply to a request that succeeded.

    It says how many spans, log records or data points were not taken, but not which ones. So of that many records each
    counts as refused, and never more than there were.

    :param count: how many records were sent
    :raises RejectedError: when some were not taken
    """
    try:
        partial = nested(read(reply), 1)
        refused, reason = integer(partial, 1), text(partial, 2)
    except (ValueError, TypeError, AttributeError):
        return  # a success whose details cannot be read is a success
    if refused > 0:
        words = "".join(each if each.isprintable() else "?" for each in reason[:_MAX_TEXT])
        raise RejectedError(f"partial success, {refused} refused: {words}", count=min(refused, count))
