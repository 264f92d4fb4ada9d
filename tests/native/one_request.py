"""Requests without a loop: each is a coroutine that is driven by hand, so that nothing else allocates.

Run as a program it makes many of them and compares what is alive before and after:

    python -m native.one_request 1000000
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import httpx

from native.draws import APP, ROUTES
from native.recorder import Recorder
from swagent import acceleration, local_span
from swagent.asgi import SkyWalkingMiddleware
from swagent.instrument.call import begin_call, end_call
from swagent.instrument.libraries.http.httpx import _ends_of_calls
from swagent.instrument.libraries.http.httpx_headers import looking_for_cookies
from swagent.instrument.libraries.sql import asyncpg
from swagent.instrument.libraries.sql.sql_call import begin_query, database_at
from swagent.instrument.libraries.sql.sql_cursor import around_awaited_query
from swagent.record.trace.model import Component, Layer

START = {"type": "http.response.start", "status": 200, "headers": []}
BODY = {"type": "http.response.body", "body": b"ok"}
MORE = {"type": "http.response.body", "body": b"ok", "more_body": True}
SW8_OF_ANOTHER = b"1-dHJhY2UtMQ==-c2VnbWVudC0x-3-d2Vi-d2ViLTE=-R0VUOi9jYXJ0-c2hvcDo4MA=="
_OTHERS: dict[str, Any] = {
    "time_split_every": 0,
    "meter_reporter_active": False,
    "event_reporter_active": False,
    "profile_active": False,
}
_log = logging.getLogger("shop")
_FEW = 300
DATABASE = database_at("PostgreSQL", Component.ASYNCPG, "db", 5432, "shop")
_TAGS = (("db.type", "PostgreSQL"), ("db.statement", "SELECT 1"))


class Pause:
    """An await that gives control back once."""

    def __await__(self) -> Any:
        yield None


class Served:
    """One application behind a middleware, with its recorder.

    :ivar sent: how many messages came to the server
    """

    def __init__(self, app: Callable[..., Any], **settings: Any) -> None:
        own = {"service": "shop", "instance": "shop-1", "loop_block_limit": 0, **_OTHERS, **settings}
        self.recorder = Recorder("protobuf", **own)
        self.app = SkyWalkingMiddleware(app, agent=self.recorder.agent)
        self.sent = 0

    async def send(self, message: Any) -> None:
        """The server's."""
        self.sent += 1

    def serve(self, scope: dict[str, Any]) -> None:
        """Serve one request to its end; raises what the application raises."""
        coroutine = self.app(scope, None, self.send)  # type: ignore[arg-type]
        try:
            while True:
                coroutine.send(None)
        except StopIteration:
            pass

    def cancel(self, scope: dict[str, Any]) -> None:
        """Serve one request up to its first pause, and cancel it there."""
        coroutine = self.app(scope, None, self.send)  # type: ignore[arg-type]
        coroutine.send(None)
        with contextlib.suppress(asyncio.CancelledError, StopIteration):
            coroutine.throw(asyncio.CancelledError())

    def abandon(self, scope: dict[str, Any]) -> None:
        """Serve one request up to its first pause, and close it there."""
        coroutine = self.app(scope, None, self.send)  # type: ignore[arg-type]
        coroutine.send(None)
        coroutine.close()

    def count(self) -> int:
        """How many records have come, which are taken away."""
        return sum(1 for _ in self.recorder.drain())


def scope_of(**others: Any) -> dict[str, Any]:
    """Of a request like most."""
    return {
        "type": "http", "method": "GET", "scheme": "http", "path": "/items/7", "root_path": "", "query_string": b"",
        "headers": [(b"host", b"shop.test")], "client": ("192.0.2.1", 5000), "server": None,
        "app": APP, **others,
    }  # fmt: skip


async def plain(scope: Any, receive: Any, send: Any) -> None:
    """An application that answers."""
    scope["route"] = ROUTES[1]
    await send(START)
    await send(BODY)


async def pausing(scope: Any, receive: Any, send: Any) -> None:
    """One that waits, and logs."""
    scope["route"] = ROUTES[1]
    await Pause()
    _log.warning("an order of %s", 7)
    await send(START)
    await send(MORE)
    await Pause()
    await send(BODY)


async def nesting(scope: Any, receive: Any, send: Any) -> None:
    """One with a span."""
    with local_span("work") as span:
        span.tag("pieces", 7).log(event="counted")
        await send(START)
    await send(BODY)


async def calling(scope: Any, receive: Any, send: Any) -> None:
    """One that asks a database, and waits for it."""
    scope["route"] = ROUTES[1]
    span = begin_call("PostgreSQL/bind", "db:5432", Layer.DATABASE, Component.ASYNCPG, _TAGS)
    await Pause()
    if span is not None:
        end_call(span)
    await send(START)
    await send(BODY)


async def asking(scope: Any, receive: Any, send: Any) -> None:
    """One that asks a database by a statement, and waits for it."""
    scope["route"] = ROUTES[1]
    span = begin_query("PostgreSQL/bind", DATABASE, "SELECT 1 FROM orders", ())
    if span is not None:
        span.headers()
    await Pause()
    if span is not None:
        end_call(span)
    await send(START)
    await send(BODY)


class Connection:
    """As asyncpg's."""

    _reset_query = "RESET ALL;"
    _addr = ("db", 5432)
    _params = SimpleNamespace(database="shop")

    async def fetch(self, statement: str, *parameters: object) -> None:
        """A query, which waits."""
        await Pause()
        if parameters:
            raise LookupError("no such row")


_fetch: Any = around_awaited_query(asyncpg._begin_by("PostgreSQL/bind"))(Connection.fetch)
_connection = Connection()


async def querying(scope: Any, receive: Any, send: Any) -> None:
    """One that asks a database by the driver's method: once well, once not, and once wrongly."""
    scope["route"] = ROUTES[1]
    await _fetch(_connection, "SELECT 1 FROM orders")
    with contextlib.suppress(LookupError):
        await _fetch(_connection, "SELECT 1 FROM orders WHERE id = $1", 7)
    with contextlib.suppress(TypeError):
        await _fetch(_connection, "SELECT 1 FROM orders", unheard_of=7)
    await send(START)
    await send(BODY)


_begin_request, _end_request = _ends_of_calls(httpx)
_look: Any = looking_for_cookies(lambda cookies, response: cookies)
_url = httpx.URL("http://stock.test/orders/17")
_FIELDS = [(b"Host", b"host", b"stock.test")]


async def fetching(scope: Any, receive: Any, send: Any) -> None:
    """One that asks a service by httpx, which looks for cookies."""
    scope["route"] = ROUTES[1]
    request = SimpleNamespace(method="GET", url=_url, headers=SimpleNamespace(_list=_FIELDS.copy()))
    span = _begin_request(None, (request,), {})
    await Pause()
    response = SimpleNamespace(_request=request, status_code=200, is_closed=True)
    _look(None, response)
    if span is not None:
        _end_request(span, response, None, (request,), {})
    await send(START)
    await send(BODY)


async def failing(scope: Any, receive: Any, send: Any) -> None:
    """One that raises."""
    raise ValueError("below")


def unawaited(scope: Any, receive: Any, send: Any) -> Any:
    """One that raises before it is awaited."""
    raise ValueError("before")


Life = tuple[Served, Callable[[Served], object]]


def lives() -> dict[str, Life]:
    """Each kind of request: an application, and how it is asked."""

    def serve(served: Served) -> None:
        served.serve(scope_of())

    def cancel(served: Served) -> None:
        served.cancel(scope_of())

    def abandon(served: Served) -> None:
        served.abandon(scope_of())

    sw8 = [(b"host", b"shop.test"), (b"sw8", SW8_OF_ANOTHER)]
    return {
        "plain": (Served(plain), serve),
        "called": (Served(plain), lambda served: served.serve(scope_of(headers=sw8))),
        "odd": (Served(plain), lambda served: served.serve(scope_of(path=7, client=7, headers=[(b"host",)]))),
        "split": (Served(plain, time_split_every=1), serve),
        "pausing": (Served(pausing), serve),
        "cancelled": (Served(pausing), cancel),
        "closed": (Served(pausing), abandon),
        "nesting": (Served(nesting), serve),
        "calling": (Served(calling), serve),
        "asking": (Served(asking), serve),
        "fetching": (Served(fetching), serve),
        "querying": (Served(querying), serve),
        "cancelled query": (Served(querying), cancel),
        "closed query": (Served(querying), abandon),
        "failing": (Served(failing), serve),
        "unawaited": (Served(unawaited), serve),
    }


def _alive(lives: list[Life]) -> dict[str, int]:
    """Counts of live objects, and of references to long-lived ones: those stay, however often one is forgotten."""
    for served, _ in lives:
        served.count()
    gc.collect()
    long_lived = (START, BODY, MORE, ROUTES[1], plain, pausing, lives[0][0].app, lives[0][0].recorder.agent.tracer)
    return {
        "blocks": sys.getallocatedblocks(),
        "objects": len(gc.get_objects()),
        **{f"references {at}": sys.getrefcount(each) for at, each in enumerate(long_lived)},
    }


def repeat(count: int) -> dict[str, tuple[int, int]]:
    """Make so many requests; what is alive before and after, where that is not the same."""
    logging.getLogger("swagent").setLevel(logging.CRITICAL)
    logging.lastResort = None
    kinds = lives()
    began = kinds["pausing"][0].recorder
    began.begin()
    listed = [*kinds.values()]
    rounds = count // len(listed)

    def run(most: int) -> None:
        for at in range(most):
            for served, live in listed:
                # of the application
                with contextlib.suppress(ValueError):
                    live(served)
            if at % 50 == 0:
                for served, _ in listed:
                    served.count()

    run(min(rounds, _FEW))
    before = _alive(listed)
    run(rounds)
    after = _alive(listed)
    began.end()
    return {name: (number, after[name]) for name, number in before.items() if after[name] != number}


def memory() -> int:
    """Bytes of this process that are in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    print(SimpleNamespace(by=acceleration.describe(), differences=repeat(int(sys.argv[1]))))
