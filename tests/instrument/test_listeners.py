"""`instrument("httpx", on_request=..., on_response=...)`: an application sees its calls, and is never hurt by that."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
import redis
import redis.asyncio
import requests
import urllib3

from kit.real.redis import Redis
from record.recorded import Recorder
from swagent import local_span
from swagent.errors import ConfigError
from swagent.instrument import instrument, uninstrument
from swagent.instrument.call import outer_call

from .http_server import HttpServer
from .loops import on_asyncio


class Seen:
    """The calls that were shown, with the spans."""

    def __init__(self) -> None:
        self.requests: list[Any] = []
        self.responses: list[Any] = []

    def on_request(self, span: Any, request: Any) -> None:
        span.tag("shop.sent", span.name)
        self.requests.append(request)

    def on_response(self, span: Any, response: Any) -> None:
        assert not span.ended
        span.tag("shop.got", span.name)
        self.responses.append(response)


@contextmanager
def listening(name: str, **listeners: Callable[[Any, Any], object]) -> Iterator[None]:
    instrument(name, **listeners)  # type: ignore[arg-type]
    try:
        yield
    finally:
        uninstrument(name)


@pytest.fixture
def seen() -> Seen:
    return Seen()


def by_httpx(url: str) -> None:
    with httpx.Client(trust_env=False) as client:
        client.get(url)


def tags_of(recorder: Recorder, name: str) -> dict[str, str]:
    return dict(recorder.span(name).tags)


def test_a_listener_that_fails_is_no_error_of_the_call_and_is_logged_once(
    recorder: Recorder, server: HttpServer, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("the application's own mistake")

    with listening("httpx", on_request=fail, on_response=fail), caplog.at_level(logging.WARNING, "swagent"):
        for _ in range(3):
            with local_span("job"):
                by_httpx(f"{server.url}/orders")
                assert outer_call() is None
    assert recorder.names == [["job", "/orders"]] * 3
    assert not any(span.failed for segment in recorder.segments for span in segment.spans)
    assert [record.getMessage().split()[0] for record in caplog.records] == ["on_request", "on_response"]


@pytest.mark.e2e
@pytest.mark.timeout(600)
@on_asyncio
async def test_redis_shows_its_commands(recorder: Recorder, redis_server: Redis, seen: Seen) -> None:
    with listening("redis", on_request=seen.on_request, on_response=seen.on_response), local_span("job"):
        with redis.Redis(port=redis_server.port, decode_responses=True) as client:
            client.set("user:17", "here")
            pipeline = client.pipeline()
            pipeline.get("user:17").execute()
        async with redis.asyncio.Redis(port=redis_server.port, decode_responses=True) as async_client:
            assert await async_client.get("missing") is None
    assert seen.requests == [("SET", "user:17", "here"), pipeline, ("GET", "missing")]
    assert seen.responses == [True, ["here"], None]
    assert tags_of(recorder, "Redis/PIPELINE")["shop.got"] == "Redis/PIPELINE"


def test_a_call_inside_another_one_and_one_that_raises_are_not_shown(
    recorder: Recorder, server: HttpServer, seen: Seen
) -> None:
    instrument("requests")
    with listening("urllib3", on_request=seen.on_request, on_response=seen.on_response), local_span("job"):
        requests.get(f"{server.url}/orders", timeout=10)
        assert (seen.requests, seen.responses) == ([], [])
        with pytest.raises(urllib3.exceptions.HTTPError):
            urllib3.PoolManager().request(
                "GET", f"{server.url}/missing", retries=urllib3.Retry(0, status_forcelist=[404])
            )
    uninstrument("requests")
    assert len(seen.requests) == 1
    assert seen.responses == []


def test_an_exception_that_ends_the_program_passes_and_leaves_no_span_behind(
    recorder: Recorder, server: HttpServer
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    for name in ("on_request", "on_response"):
        with listening("httpx", **{name: interrupt}), local_span("job"):
            with pytest.raises(KeyboardInterrupt):
                by_httpx(f"{server.url}/orders")
            assert outer_call() is None
    assert recorder.names == [["job", "/orders"]] * 2


def test_listeners_may_come_later_and_go_with_the_instrumentation(
    recorder: Recorder, server: HttpServer, seen: Seen
) -> None:
    later = Seen()
    with listening("httpx"):
        by_httpx(f"{server.url}/first")
        instrument("httpx", on_request=seen.on_request)
        by_httpx(f"{server.url}/second")
        instrument("httpx")
        by_httpx(f"{server.url}/third")
        instrument("httpx", on_response=later.on_response)
        by_httpx(f"{server.url}/fourth")
    with listening("httpx"):
        by_httpx(f"{server.url}/fifth")
    assert [each.url.path for each in seen.requests] == ["/second", "/third"]
    assert [each.request.url.path for each in later.responses] == ["/fourth"]
    assert recorder.names == [["/first"], ["/second"], ["/third"], ["/fourth"], ["/fifth"]]


async def _async_listener(*_: object) -> None:
    return None


@pytest.mark.parametrize(
    ("names", "listener"),
    [
        ((), print),
        (("sqlalchemy",), print),
        (("httpx", "sqlalchemy"), print),
        (("httpx",), _async_listener),
        (("httpx",), 17),
    ],
    ids=["of all", "of one that shows nothing", "of two", "async", "no function"],
)
def test_a_listener_of_calls_that_cannot_be_shown_is_refused(names: tuple[str, ...], listener: Any) -> None:
    with pytest.raises(ConfigError):
        instrument(*names, on_request=listener)
