"""Calls of httpx that C begins and ends: as those of Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from record.recorded import recording
from swagent import acceleration, entry_span
from swagent.instrument import call
from swagent.instrument.libraries.http import httpx as hook
from swagent.instrument.settings import Settings, current, use
from swagent.instrument.wrapping import around_call
from swagent.record.trace.context import current as active
from swagent.record.trace.model import Component, Layer

pytestmark = pytest.mark.native
BEGIN, END = hook._ends_of_calls(httpx)
NAMES = {"sw8", "sw8-correlation", "traceparent", "tracestate"}


class OwnUrl(httpx.URL):
    """Of an application's, which shows another host."""

    @property
    def host(self) -> str:
        return "own.test"


def request(url: Any = "http://stock.test/orders/17", method: Any = "GET", **others: Any) -> httpx.Request:
    made = httpx.Request("GET", url)
    made.method = method
    for name, value in others.items():
        setattr(made, name, value)
    return made


def with_headers(*names: str) -> httpx.Request:
    return httpx.Request("GET", "http://stock.test/", headers=[(name, "before") for name in names])


def subclassed() -> httpx.Request:
    made = request()
    made.url = OwnUrl("http://stock.test/orders")
    return made


class Raising:
    """A request that raises."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def __getattr__(self, name: str) -> Any:
        raise self._error


REQUESTS: dict[str, Callable[[], Any]] = {
    "plain": request,
    "a port": lambda: request("https://stock.test:8443/"),
    "no path": lambda: request("http://stock.test"),
    "a query": lambda: request("http://user:secret@stock.test/a?b=c#d"),
    "an address": lambda: request("http://[::1]:80/a"),
    "a name in Punycode": lambda: request("http://中国.icom.museum/a"),
    "a name with an x": lambda: request("http://x.test/a"),
    "a quoted path": lambda: request("http://stock.test/a%20b/%C3%BC"),
    "a long path": lambda: request("http://stock.test/" + "a" * 3000),
    "no host": lambda: request("/orders"),
    "another method": lambda: request(method="get"),
    "a method that is none": lambda: request(method=b"GET"),
    "one that is ignored": lambda: request(method="HEAD"),
    "a URL of the application's": subclassed,
    "with our headers": lambda: with_headers("SW8", "TraceParent", "own"),
    "with a part of them": lambda: with_headers("own", "tracestate"),
    "headers in a dict": lambda: request(headers={"own": "kept"}),
    "no headers": lambda: request(headers=None),
    "no request": lambda: SimpleNamespace(),
    "one that raises": lambda: Raising(ValueError("broken")),
    "one that interrupts": lambda: Raising(KeyboardInterrupt()),
}


@pytest.fixture(params=[Settings(), Settings(http_real_paths=True), Settings(http_ignored_methods=("HEAD",))])
def settings(request: pytest.FixtureRequest) -> Iterator[Any]:
    use(request.param)
    yield request.param
    use(Settings())


def fields_of(request: Any) -> Any:
    headers = request.headers
    if headers is None:
        return None
    return [(name.lower(), value if name.lower() not in NAMES else "") for name, value in headers.items()]


def came_of(begin: Any, make: Callable[[], Any], by_name: bool = False) -> Any:
    """The span of a call with what is in its request, or what its begin raises."""
    made = make()
    try:
        span = begin(None, () if by_name else (made,), {"request": made} if by_name else {})
    except BaseException as error:  # noqa: BLE001, RUF100
        return type(error), str(error)
    if span is None:
        return None, fields_of(made)
    written = span.headers_for(span.peer)
    # where paths are shown as they are, so is the peer, and the headers have its port
    if made.headers is not None and not current().http_real_paths:
        assert {name: made.headers.get(name) for name in written} == written
    span.stop()
    return span.name, span.kind, span.peer, span.layer, span.component, span.tags, fields_of(made)


@pytest.mark.parametrize("kind", REQUESTS)
def test_a_call_begins_as_in_python(kind: str, settings: Any) -> None:
    make = REQUESTS[kind]
    with recording() as recorded:
        # outside of a request, in one, and inside of another call; each place comes once, and again
        for by_name in (False, False, True):
            assert came_of(BEGIN, make, by_name) == came_of(hook._begin, make, by_name)
        with entry_span("request"):
            for by_name in (False, False, True):
                found = came_of(BEGIN, make, by_name)
                assert found == came_of(hook._begin, make, by_name)
            assert kind != "plain" or "sw8" in dict(found[-1])
            outer: Any = call.begin_call("GET", "stock:80", Layer.HTTP, Component.HTTPX)
            assert came_of(BEGIN, make) == came_of(hook._begin, make)
            outer.stop()
        assert recorded.names


RESPONSES: dict[str, Callable[[], Any]] = {
    "whole": lambda: httpx.Response(200, json={}),
    "a failure": lambda: httpx.Response(404, json={}),
    "unknown": lambda: httpx.Response(299, json={}),
    "still to come": lambda: httpx.Response(200, stream=httpx.ByteStream(b"")),
    "odd": lambda: SimpleNamespace(status_code=10**30, is_closed=True),
    "a text": lambda: SimpleNamespace(status_code="200", is_closed=True),
    "neither open nor closed": lambda: SimpleNamespace(status_code=200, is_closed=1),
    "nothing": lambda: None,
}


@pytest.mark.parametrize("kind", RESPONSES)
def test_a_call_ends_as_in_python(kind: str) -> None:
    def ended(end: Any) -> Any:
        span: Any = call.begin_call("GET", "stock:80", Layer.HTTP, Component.HTTPX)
        response = RESPONSES[kind]()
        try:
            end(span, response, None, (), {})
        except Exception as error:  # noqa: BLE001, RUF100
            return type(error), str(error), span.stop()
        was_ended = span.ended
        span.stop()
        return was_ended, span.failed, span.tags, "_swagent_body" in getattr(response, "__dict__", ())

    with recording(), entry_span("request"):
        assert ended(END) == ended(hook._answered)


class RaisingOnce(httpx.Request):
    """Its headers raise at the first look."""

    def __init__(self, error: BaseException | None) -> None:
        super().__init__("GET", "http://stock.test/orders")
        self.error = error

    @property
    def headers(self) -> Any:
        error, self.error = self.__dict__.get("error"), None
        if error is not None:
            raise error
        return self.__dict__["kept"]

    @headers.setter
    def headers(self, headers: Any) -> None:
        self.__dict__["kept"] = headers


class OddError(BaseException):
    """Of a class that none expects."""


@pytest.mark.parametrize("begin", [hook._begin, BEGIN], ids=["Python", "C"])
@pytest.mark.parametrize("error", [ValueError, OddError, KeyboardInterrupt])
def test_a_call_whose_headers_cannot_be_written_leaves_no_span_behind(
    error: type[BaseException], begin: Callable[..., Any]
) -> None:
    send = around_call(begin, hook._answered)(lambda _, __: httpx.Response(200))
    with recording() as recorder, entry_span("request") as root:
        if error is KeyboardInterrupt:
            with pytest.raises(error):
                send(None, RaisingOnce(error()))
        else:
            send(None, RaisingOnce(error()))
        assert active.get() is root
        send(None, httpx.Request("GET", "http://stock.test/next"))
    assert recorder.names == [["request", "/orders", "/next"]]


def test_the_log_names_the_module_of_python() -> None:
    assert BEGIN is acceleration.native.begin_request  # type: ignore[union-attr]
    assert {BEGIN.__module__, END.__module__} == {hook.__name__}
    with pytest.raises(TypeError):
        BEGIN(None)
