"""Applications and servers see what they see without the middleware: the same program runs with it and without it."""

from __future__ import annotations

import inspect
import io
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from wsgiref.handlers import SimpleHandler
from wsgiref.util import FileWrapper
from wsgiref.validate import validator

import pytest

from asgi.calling import tags
from swagent.wsgi.response import App, StartResponse
from swagent.wsgi.scope import Environ
from wsgi.calling import environ_of, returning, traced

pytestmark = pytest.mark.anyio

# No list: the standard library's server writes into the list that it gets.
PLAIN = (("Content-Type", "text/plain"),)


class Pages(list[bytes]):
    """A body of a class of the application's own."""


class Lazy(list[bytes]):
    """A list that starts its response when it is asked for its pieces."""

    start: Callable[[], object]

    def __iter__(self) -> Iterator[bytes]:
        self.start()
        return super().__iter__()


class Sized:
    """No list, and it has a length all the same. It notes how often it was begun and closed."""

    def __init__(self, *pieces: Any) -> None:
        self.pieces = pieces
        self.journal: list[str] = []

    def __len__(self) -> int:
        return len(self.pieces)

    def __iter__(self) -> Iterator[bytes]:
        self.journal.append("iter")
        return iter(self.pieces)

    def close(self) -> None:
        self.journal.append("close")


def error_by_name(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
    try:
        raise LookupError("no stock")
    except LookupError:
        start_response("503 Busy", [*PLAIN], exc_info=sys.exc_info())
    return [b"later"]


def all_by_name(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
    start_response(exc_info=None, headers=[*PLAIN], status="201 Created")
    return [b"made"]


def no_such_name(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
    start_response("200 OK", [*PLAIN], trailers=[])
    return [b"never"]


def started_twice(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
    start_response("200 OK", [*PLAIN])
    with pytest.raises(AssertionError):
        start_response("404 Not Found", [*PLAIN])
    return [b"first"]


def started_again_for_an_error(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
    start_response("200 OK", [*PLAIN])
    try:
        raise LookupError("no stock")
    except LookupError:
        start_response("500 Sorry", [*PLAIN], sys.exc_info())
    yield b"sorry"


def never_started(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
    return [b"page"]


def started_late(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
    start_response("200 OK", [*PLAIN])
    yield b""
    yield b"late"


def started_too_late(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
    yield b""
    start_response("200 OK", [*PLAIN])
    yield b"late"


def started_by_its_list(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
    body = Lazy([b"lazy"])
    body.start = lambda: start_response("200 OK", [*PLAIN])
    return body


PROGRAMS: dict[str, App] = {
    "exc_info by name": error_by_name,
    "all by name": all_by_name,
    "a name that the server does not know": no_such_name,
    "started twice": started_twice,
    "started again for an error": started_again_for_an_error,
    "never started": never_started,
    "started late": started_late,
    "started too late": started_too_late,
    "started by its list": started_by_its_list,
    "a subclass of list": returning(lambda: Pages([b"page"]), *PLAIN),
    "a sized body": returning(lambda: Sized(b"page"), *PLAIN),
    "a sized body of two": returning(lambda: Sized(b"page", b"s"), *PLAIN),
    "an empty sized body": returning(Sized, *PLAIN),
    "an iterator": returning(lambda: iter([b"page"]), *PLAIN),
    "no body": returning(lambda: None, *PLAIN),
    "bytes": returning(lambda: b"page", *PLAIN),
    "a text": returning(lambda: "page", *PLAIN),
    "a number": returning(lambda: 7, *PLAIN),
    "a piece that is no bytes": returning(lambda: Sized(b"p", 7), *PLAIN, ("Content-Length", "4")),
    "a text among the pieces": returning(lambda: iter([b"p", "age"]), *PLAIN, ("Content-Length", "4")),
}  # fmt: skip


def served(app: App) -> tuple[bytes, list[str]]:
    """The client's answer from the standard library's server, and the errors that the server writes, without the lines
    of code that lead there."""
    answer, errors = io.BytesIO(), io.StringIO()
    handler = SimpleHandler(io.BytesIO(), answer, errors, environ_of(), multithread=False)
    handler.origin_server = False  # one says the time
    handler.run(app)
    return answer.getvalue(), [line for line in errors.getvalue().splitlines() if line[:1] != " "]


@pytest.mark.parametrize("name", PROGRAMS)
async def test_a_client_gets_the_same_answer(name: str) -> None:
    async with traced(PROGRAMS[name]) as shop:
        assert served(shop.app) == served(PROGRAMS[name])
        span = await shop.span()
        assert shop.app.faults.count <= (name == "a name that the server does not know")
    # and it is recorded, with the status that was sent
    assert span.operation == "GET:/"
    if name in ("exc_info by name", "started twice"):
        assert tags(span)["http.status_code"] == ("200" if name == "started twice" else "503")


@pytest.mark.parametrize("kind", [iter, map, tuple, list], ids=lambda kind: kind.__name__)
async def test_headers_that_can_be_read_once_are_read_by_the_server(kind: Any) -> None:
    given = [*PLAIN, ("Content-Length", "4")]
    sent: list[tuple[str, str]] = []

    def start_response(status: str, headers: Iterable[tuple[str, str]], exc_info: Any = None) -> Any:
        # as gunicorn and others do
        sent.extend(headers)

    def app(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        start_response("200 OK", map(tuple, given) if kind is map else kind(given))
        yield b"page"

    async with traced(app) as shop:
        assert list(shop.app(environ_of(), start_response)) == [b"page"]
        assert tags(await shop.span())["http.status_code"] == "200"
    assert sent == given


async def test_start_response_looks_like_the_servers() -> None:
    class Server:
        def start_response(self, status: str, headers: object, exc_info: object = None) -> Callable[[bytes], object]:
            return self.write

        def write(self, data: bytes) -> None:
            raise AssertionError("not called")

    server, seen = Server(), list[Any]()

    def app(environ: Environ, start_response: StartResponse) -> list[bytes]:
        seen.extend((inspect.signature(start_response), start_response.__self__, start_response("200 OK", [])))  # type: ignore[attr-defined]
        return []

    async with traced(app) as shop:
        shop.app(environ_of(), server.start_response)
    assert seen == [inspect.signature(server.start_response), server, server.write]


async def test_start_response_and_a_body_can_be_held_weakly() -> None:
    held: list[weakref.ref[Any]] = []

    def app(environ: Environ, start_response: StartResponse) -> Iterator[bytes]:
        held.append(weakref.ref(start_response))
        start_response("200 OK", [])
        return (each for each in [b"a"])

    async with traced(app) as shop:
        given: Any = shop.app(environ_of(), lambda *_: bytes)
        held.append(weakref.ref(given))
        given.close()
    del given
    assert [each() for each in held] == [None, None]


@pytest.mark.parametrize("times", [0, 1, 2])
async def test_a_body_is_begun_and_closed_as_often_as_the_server_does_it(times: int) -> None:
    body = Sized(b"a", b"b")
    async with traced(returning(lambda: body)) as shop:
        given: Any = shop.app(environ_of(), lambda *_: bytes)
        for _ in range(times):
            assert list(given) == [b"a", b"b"]
        given.close()
    assert body.journal == times * ["iter"] + ["close"]


async def test_a_body_keeps_its_attributes_and_is_no_iterator_unless_it_was() -> None:
    body = Sized(b"a")
    async with traced(returning(lambda: body)) as shop:
        given: Any = shop.app(environ_of(), lambda *_: bytes)
        assert given.pieces == (b"a",)
        assert len(given) == 1
        with pytest.raises(TypeError, match="'Sized' object is not an iterator"):
            next(given)
        given.close()
        made: Any = shop.app(environ_of(), lambda *_: bytes)
        with pytest.raises(AttributeError):
            made.nothing_like_it  # noqa: B018
        made.close()


async def test_an_iterator_has_no_length() -> None:
    async with traced(returning(lambda: iter([b"a"]))) as shop:
        given: Any = shop.app(environ_of(), lambda *_: bytes)
        assert not hasattr(given, "__len__")
        given.close()


class Handle(io.BytesIO):
    """A file of which a function of the server's notes that it may send it by itself, as uWSGI's does."""


async def test_a_server_that_knows_a_file_by_its_identity_gets_it() -> None:
    given: list[Any] = []

    def file_wrapper(file: Any, size: int = 8192) -> Any:
        given.append(file)
        return file

    def app(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        start_response("200 OK", [*PLAIN])
        return environ["wsgi.file_wrapper"](Handle(b"content"))  # type: ignore[no-any-return]

    async with traced(app) as shop:
        body = shop.app({**environ_of(), "wsgi.file_wrapper": file_wrapper}, lambda *_: bytes)
        assert body is given[0]
        assert b"".join(body) == b"content"
        body.close()
        assert (await shop.span()).operation == "GET:/"


class Slotted(FileWrapper):
    """A kind of file that cannot be read after its end."""

    def __setattr__(self, name: str, value: object) -> None:
        if name in vars(self):
            raise RuntimeError(f"{name} is mine")
        super().__setattr__(name, value)


async def test_a_file_that_cannot_be_read_after_its_end_is_sent_all_the_same() -> None:
    def app(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        start_response("200 OK", [*PLAIN])
        return environ["wsgi.file_wrapper"](io.BytesIO(b"content"))  # type: ignore[no-any-return]

    async with traced(app) as shop:
        body = shop.app({**environ_of(), "wsgi.file_wrapper": Slotted}, lambda *_: bytes)
        assert isinstance(body, Slotted)
        assert b"".join(body) == b"content"
        assert (await shop.span()).operation == "GET:/"


async def test_a_validator_on_either_side_finds_nothing() -> None:
    programs = ("started late", "a sized body", "a subclass of list", "started again for an error", "an iterator")
    for program in programs:
        async with traced(validator(PROGRAMS[program])) as shop:
            inside = served(validator(shop.app))
        assert inside == served(validator(PROGRAMS[program])), program
        assert b"200 OK" in inside[0] or b"500 Sorry" in inside[0], program
