"""Asking a real OAP what arrived. What was sent shows some seconds later: ask through `eventually`.

async with OapQuery(oap.http_address) as query:
    spans = await eventually(lambda: query.trace(trace_id))
"""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta, timezone
from typing import Any, TypeVar

import anyio
import httpx
from typing_extensions import Self

from e2e import documents
from e2e.answers import Event, Instance, Json, LogLine, Service, Span, TraceLine

T = TypeVar("T")

_LOOK_BACK = timedelta(minutes=15)
_POLL_SECONDS = 0.25
# Only so that a test ends which waits in vain. On a busy machine Kafka takes a server for dead that is just slow, and
# what was sent shows when it has its partitions again.
_LONGEST = 240.0


class RefusedError(Exception):
    """OAP cannot answer a query; the text quotes it. As a rule the test is wrong."""


async def eventually(
    probe: Callable[[], Awaitable[T]], timeout: float = _LONGEST, until: Callable[[T], object] = bool
) -> T:
    """Ask until the answer satisfies `until` (is not empty); AssertionError quotes the last answer."""
    last: object = "nothing: no answer came"
    with anyio.move_on_after(timeout):
        while True:
            try:
                answer = last = await probe()
                if until(answer):
                    return answer
            except (AssertionError, httpx.TransportError) as exc:  # not yet as wanted, or restarting
                last = exc
            await anyio.sleep(_POLL_SECONDS)
    raise AssertionError(f"not within {timeout:g} s; the last answer was {last!r}")


class OapQuery:
    """OAP's query side, as far as an agent's tests need it. Times are UTC, the last minutes only."""

    def __init__(self, address: str) -> None:
        self._http = httpx.AsyncClient(base_url=f"http://{address}", trust_env=False, timeout=10.0)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def ask(self, document: str, **variables: object) -> dict[str, Any]:
        """Any GraphQL document; its `data`. An error in the answer is raised: `RefusedError`."""
        reply = await self._http.post("/graphql", json={"query": document, "variables": variables})
        reply.raise_for_status()
        answer: dict[str, Any] = reply.json()
        if answer.get("errors"):
            raise RefusedError(f"OAP refused the query: {answer['errors']}")
        data: dict[str, Any] = answer["data"]
        return data

    async def services(self, layer: str = "GENERAL") -> list[Service]:
        data = await self.ask(documents.SERVICES, layer=layer)
        return [Service.read(each) for each in data["found"]]

    async def instances(self, service: str) -> list[Instance]:
        data = await self.ask(documents.INSTANCES, service=service_id(service), duration=_duration())
        return [Instance.read(each) for each in data["found"]]

    async def endpoints(self, service: str) -> list[str]:
        """Operation names of the entry spans."""
        data = await self.ask(documents.ENDPOINTS, service=service_id(service))
        return [each["name"] for each in data["found"]]

    async def traces(self, service: str, *, limit: int = 100, **condition: object) -> list[TraceLine]:
        """One line a segment, newest first. More conditions by GraphQL's names: traceState=, tags=[...]."""
        condition = {"traceState": "ALL", "queryOrder": "BY_START_TIME", **condition}
        condition |= {"serviceId": service_id(service), "queryDuration": _duration()}
        data = await self.ask(documents.TRACES, condition={**condition, "paging": _first(limit)})
        return [TraceLine.read(each) for each in data["found"]["traces"]]

    async def trace(self, trace_id: str) -> list[Span]:
        """The spans of all segments of the trace."""
        data = await self.ask(documents.TRACE, id=trace_id)
        return [Span.read(each) for each in data["found"]["spans"]]

    async def map_of(self, service: str) -> list[Json]:
        """The surroundings of a service on the map: names and types."""
        data = await self.ask(documents.MAP, service=service_id(service), duration=_duration())
        nodes: list[Json] = data["found"]["nodes"]
        return nodes

    async def logs(
        self, service: str, *, trace_id: str | None = None, limit: int = 100, **condition: object
    ) -> list[LogLine]:
        """Newest first. More conditions by GraphQL's names: tags=[{"key": ..., "value": ...}]."""
        condition |= {"serviceId": service_id(service), "queryDuration": _duration()}
        if trace_id is not None:
            condition["relatedTrace"] = {"traceId": trace_id}
        data = await self.ask(documents.LOGS, condition={**condition, "paging": _first(limit)})
        return [LogLine.read(each) for each in data["found"]["logs"]]

    async def meter(
        self, name: str, service: str, instance: str | None = None, *, is_normal: bool = True
    ) -> float | None:
        """The newest minute's value, None where there is none. A runtime gauge is `meter_` + its name."""
        entity: dict[str, object] = {"serviceName": service, "normal": is_normal}
        entity["scope"] = "ServiceInstance" if instance else "Service"
        if instance:
            entity["serviceInstanceName"] = instance
        data = await self.ask(documents.METER, expression=name, entity=entity, duration=_duration())
        return _newest(data["found"])

    async def events(self, service: str, *, limit: int = 100) -> list[Event]:
        condition = {"source": {"service": service}, "time": _duration(), "paging": _first(limit)}
        data = await self.ask(documents.EVENTS, condition=condition)
        return [Event.read(each) for each in data["found"]["events"]]


def service_id(name: str) -> str:
    """OAP's id of a service that reports itself (1), unlike one only seen as a peer (0)."""
    return f"{base64.b64encode(name.encode()).decode()}.1"


def _duration() -> Mapping[str, str]:
    now = datetime.now(timezone.utc)
    start, end = now - _LOOK_BACK, now + timedelta(minutes=1)  # the next minute may begin while OAP reads
    return {"start": f"{start:%Y-%m-%d %H%M}", "end": f"{end:%Y-%m-%d %H%M}", "step": "MINUTE"}


def _first(limit: int) -> Mapping[str, int]:
    return {"pageNum": 1, "pageSize": limit}


def _newest(found: Json) -> float | None:
    if found["error"]:  # a metric that OAP knows and that has no value yet is not one
        raise RefusedError(f"OAP refused the expression: {found['error']}")
    values = [each["value"] for series in found["results"] for each in series["values"]]
    known = [float(value) for value in values if value is not None]
    return known[-1] if known else None
