"""The entry span of a WSGI request: what it says, how it ends, and that nothing of it stays in the server's thread."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any
from wsgiref.util import FileWrapper

import pytest

from asgi.calling import CARRIER, SW8, tags
from swagent import current_trace_id, exit_span, get_correlation, local_span
from swagent.record.trace.context import current
from swagent.record.trace.model import Component
from swagent.wsgi import SkyWalkingMiddleware
from swagent.wsgi.response import StartResponse
from swagent.wsgi.scope import Environ
from wsgi.calling import answers, ask, environ_of, returning, traced

pytestmark = pytest.mark.anyio


async def test_a_request_is_an_entry_span_with_its_tags_and_its_client() -> None:
    async with traced(answers("404 Not Found", b"a", b"b")) as shop:
        answer = ask(shop.app, environ_of("/items/7", "PUT", QUERY_STRING="secret=1"))
        span = await shop.span()
    assert (answer.status, answer.body) == ("404 Not Found", b"ab")
    assert (span.operation, span.kind, span.component_id) == ("PUT:/items/7", "Entry", Component.PYTHON)
    assert (span.peer, span.is_error) == ("192.0.2.1:5000", False)
    assert tags(span) == {
        "http.method": "PUT", "http.url": "http://shop.test/items/7", "http.status_code": "404"
    }  # fmt: skip


async def test_the_callers_context_is_continued() -> None:
    app = returning(lambda: [current_trace_id().encode(), b" ", (get_correlation("user") or "").encode()])
    async with traced(app) as shop:
        environ = environ_of(HTTP_SW8=SW8.decode(), HTTP_SW8_CORRELATION="dXNlcg==:YW5uYQ==")
        assert ask(shop.app, environ).body == b"trace-1 anna"
        [segment] = await shop.segments()
    [reference] = segment.spans[0].references
    assert (segment.trace_id, reference.segment_id) == ("trace-1", CARRIER.segment_id)


async def test_a_function_that_decides_on_trust_may_ask_for_any_header() -> None:
    def trusts(request: Any) -> bool:
        return bool(dict(request["headers"])[b"x-inside"] == b"yes")

    async with traced(answers(), trust_incoming=trusts) as shop:
        ask(shop.app, environ_of(HTTP_SW8=SW8.decode(), HTTP_X_INSIDE="yes"))
        ask(shop.app, environ_of(HTTP_SW8=SW8.decode(), HTTP_X_INSIDE="no"))
        trusted, other = await shop.segments()
    assert trusted.trace_id == "trace-1" != other.trace_id


async def test_an_exception_goes_on_and_is_in_the_span() -> None:
    def app(environ: Environ, start_response: StartResponse) -> list[bytes]:
        raise LookupError("nothing there")

    async with traced(app) as shop:
        with pytest.raises(LookupError):
            ask(shop.app, environ_of())
        span = await shop.span()
    assert span.is_error
    assert tags(span)["http.status_code"] == "500"
    assert [dict(log.data)["error.kind"] for log in span.logs] == ["LookupError"]


@pytest.mark.parametrize("has_sent", [False, True])
async def test_an_error_that_start_response_gets_is_recorded_once(has_sent: bool) -> None:
    def app(environ: Environ, start_response: StartResponse) -> Iterator[bytes]:
        start_response("200 OK", [])
        if has_sent:
            yield b"half"
        try:
            raise LookupError("nothing there")
        except LookupError:
            start_response("500 Sorry", [], sys.exc_info())
        yield b"sorry"

    async with traced(app) as shop:
        if has_sent:
            with pytest.raises(LookupError):
                ask(shop.app, environ_of())
        else:
            assert ask(shop.app, environ_of()).status == "500 Sorry"
        span = await shop.span()
    assert span.is_error
    assert tags(span)["http.status_code"] == "500"
    assert len(span.logs) == 1


async def test_a_body_is_made_inside_of_the_request_and_ends_it() -> None:
    def pieces() -> Iterator[bytes]:
        for number in range(3):
            with local_span(f"piece {number}"):
                yield current_trace_id().encode()

    outside: list[str] = []
    async with traced(returning(pieces)) as shop:
        answer = ask(shop.app, environ_of(), each=lambda: outside.append(current_trace_id()))
        [segment] = await shop.segments()
    assert answer.body.decode() == 3 * segment.trace_id
    assert outside == ["", "", ""], "between two pieces the thread is the server's"
    assert [(span.operation, span.parent_span_id) for span in segment.spans] == [
        ("piece 0", 0), ("piece 1", 0), ("piece 2", 0), ("GET:/", -1)
    ]  # fmt: skip


async def test_a_request_ends_before_its_last_byte_goes_out() -> None:
    async with traced(returning(lambda: (each for each in (b"a", b"b")), ("content-length", "2"))) as shop:
        body = iter(shop.app(environ_of(), lambda *_: bytes))
        assert next(body) == b"a"
        assert await shop.segments() == []
        assert next(body) == b"b"
        assert len(await shop.segments()) == 1
        assert list(body) == []
        body.close()  # type: ignore[attr-defined]
        assert len(await shop.segments()) == 1


class Closed:
    """A body that notes its end."""

    def __init__(self, *pieces: bytes, error: Exception | None = None) -> None:
        self.pieces = pieces
        self.error = error
        self.trace = ""

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.pieces)

    def close(self) -> None:
        self.trace = current_trace_id()
        if self.error is not None:
            raise self.error


async def test_a_body_is_closed_inside_of_its_request() -> None:
    body = Closed(b"a", error=LookupError("late"))
    async with traced(returning(lambda: body)) as shop:
        with pytest.raises(LookupError):
            ask(shop.app, environ_of(), pieces=1)
        [segment] = await shop.segments()
    assert body.trace == segment.trace_id
    assert segment.spans[0].is_error


@pytest.mark.parametrize(("method", "outcome"), [("GET", "cancelled"), ("HEAD", None)])
async def test_a_body_that_is_not_taken_to_its_end_was_cut_off(method: str, outcome: str | None) -> None:
    async with traced(returning(lambda: Closed(b"a", b"b"))) as shop:
        assert ask(shop.app, environ_of(method=method), pieces=1).body == b"a"
        span = await shop.span()
    assert tags(span).get("outcome") == outcome
    assert not span.is_error


async def test_a_body_that_was_not_asked_for_is_no_loss() -> None:
    async with traced(returning(lambda: Closed(b"a"))) as shop:
        shop.app(environ_of(method="HEAD"), lambda *_: bytes).close()  # type: ignore[attr-defined]
        assert "outcome" not in tags(await shop.span())


async def test_a_body_that_is_written_by_hand_passes() -> None:
    def app(environ: Environ, start_response: StartResponse) -> list[bytes]:
        write = start_response("200 OK", [])
        write(b"by hand ")
        return [b"and returned"]

    async with traced(app) as shop:
        assert ask(shop.app, environ_of()).body == b"by hand and returned"
        assert tags(await shop.span())["http.status_code"] == "200"


async def test_the_server_gets_its_own_kind_of_file(tmp_path: Any) -> None:
    path = tmp_path / "page"
    path.write_bytes(b"content")

    def app(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        start_response("200 OK", [])
        return environ["wsgi.file_wrapper"](path.open("rb"))  # type: ignore[no-any-return]

    async with traced(app) as shop:
        body = shop.app({**environ_of(), "wsgi.file_wrapper": FileWrapper}, lambda *_: bytes)
        assert isinstance(body, FileWrapper)
        assert b"".join(body) == b"content"
        assert await shop.segments() == []
        body.close()
        assert body.filelike.closed
        assert tags(await shop.span())["http.status_code"] == "200"


async def test_a_list_is_handed_on_as_it_is() -> None:
    pieces = [b"a"]
    async with traced(returning(lambda: pieces)) as shop:
        assert shop.app(environ_of(), lambda *_: bytes) is pieces


async def test_one_request_is_one_span_however_often_it_is_wrapped() -> None:
    async with traced(answers()) as shop:
        outer = SkyWalkingMiddleware(SkyWalkingMiddleware(shop.app), agent=shop.agent)
        ask(outer, environ_of())
        assert (await shop.span()).operation == "GET:/"


async def test_a_span_that_is_left_open_does_not_adopt_the_threads_next_request() -> None:
    left: list[Any] = []

    def leave() -> list[bytes]:
        left.append(exit_span("call", "stock:80").start())
        return [current_trace_id().encode()]

    async with traced(returning(leave)) as shop:
        before = current.get()
        traces = {ask(shop.app, environ_of()).body for _ in range(3)}
        assert current.get() is before
        for span in left:
            span.stop()
        segments = await shop.segments()
    assert len(traces) == 3
    assert {each.trace_id.encode() for each in segments} == traces


async def test_an_environ_of_no_specification_costs_the_span_and_not_the_request() -> None:
    async with traced(answers("200 OK", b"here")) as shop:
        assert ask(shop.app, {"wsgi.url_scheme": "http"}).body == b"here"
        assert await shop.segments() == []
        assert shop.app.faults.count == 1


async def test_a_path_is_read_as_utf_8_and_mounts_belong_to_it() -> None:
    async with traced(answers()) as shop:
        ask(shop.app, environ_of("/kühe".encode().decode("latin-1"), SCRIPT_NAME="/stall"))
        assert (await shop.span()).operation == "GET:/stall/kühe"


async def test_methods_may_be_left_out() -> None:
    async with traced(answers(), plugin_http_ignore_method="head,options") as shop:
        for method in ("HEAD", "GET", "OPTIONS"):
            ask(shop.app, environ_of(method=method))
        assert (await shop.span()).operation == "GET:/"


async def test_without_an_agent_the_application_is_called_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SW_AGENT_PROTOCOL", "pigeon")
    app = SkyWalkingMiddleware(answers("200 OK", b"ok"))
    for _ in range(2):
        assert ask(app, environ_of()).body == b"ok"
