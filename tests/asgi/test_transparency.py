"""An application sees the same as without the middleware: the objects that it gets, and the outcomes of its calls."""

from __future__ import annotations

import asyncio
import copy
import gc
import inspect
import typing
import warnings
import weakref
from collections.abc import Awaitable
from functools import partial
from types import CoroutineType
from typing import Any

import anyio
import anyio.lowlevel
import pytest
import sniffio
from asgiref.sync import async_to_sync, iscoroutinefunction, sync_to_async
from starlette._utils import is_async_callable

from asgi.calling import REQUEST, answers, body, call, http_scope, says, start, tags, traced, websocket_scope
from swagent.acceleration import native
from swagent.asgi.lifespan import App, Message, Receive, Scope, Send
from swagent.collector.store.trace_records import Span

pytestmark = pytest.mark.anyio
one_loop = pytest.mark.one_loop


class Server:
    """A server's side of one scope, in the ways in which servers make it."""

    def __init__(self) -> None:
        self.said: list[Message] = []
        self.awaited = 0

    async def receive(self) -> Message:
        return REQUEST

    async def send(self, message: Message) -> None:
        self.awaited += 1
        self.said.append(message)

    async def send_of(self, name: str, message: Message) -> None:
        await self.send(message)

    def send_at_once(self, message: Message) -> Awaitable[None]:
        self.said.append(message)
        return self.nothing()

    async def nothing(self) -> None:
        self.awaited += 1

    def receive_at_once(self) -> Awaitable[Message]:
        return self.receive()


class Called:
    """A `send` that is an object."""

    def __init__(self, server: Server) -> None:
        self._server = server

    async def __call__(self, message: Message) -> None:
        await self._server.send(message)


async def serve(scope: Scope, receive: Receive, send: Send, app: App, **config: Any) -> Span:
    """Call an application once, as a server does; its span."""
    async with traced(app, **config) as shop:
        await shop.app(scope, receive, send)
        return await shop.span()


def _function(server: Server) -> Send:
    async def send(message: Message) -> None:
        await server.send(message)

    return send


def _marked(server: Server) -> Send:
    return _mark(partial(server.send_at_once))  # type: ignore[no-any-return]


def _mark(send: Any) -> Any:
    """Since 3.12 `inspect` has a mark for them; before it was one of asyncio's."""
    if hasattr(inspect, "markcoroutinefunction"):
        return inspect.markcoroutinefunction(send)
    return send


SENDS = {
    "a method": lambda server: server.send,
    "a function": _function,
    "a partial": lambda server: partial(server.send_of, "daphne"),
    "an object": Called,
    "no coroutine function": lambda server: server.send_at_once,
    "a lambda": lambda server: lambda message: server.send(message),
    "a marked one": _marked,
}


def _kinds(send: Any) -> list[bool]:
    """The questions that libraries ask about a callable before they call it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # asyncio's is deprecated since 3.14
        old = asyncio.iscoroutinefunction(send)
    asked = (inspect.iscoroutinefunction, iscoroutinefunction, inspect.isasyncgenfunction, is_async_callable)
    return [old, *(ask(send) for ask in asked), iscoroutinefunction(partial(send, start()))]


@one_loop
@pytest.mark.parametrize("split", [0, 1])
@pytest.mark.parametrize("kind", SENDS)
async def test_send_is_a_coroutine_function_where_the_servers_is(kind: str, split: int) -> None:
    server = Server()
    send = SENDS[kind](server)
    seen: list[Any] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.extend((_kinds(send), _kinds(receive)))
        await send(message=start())  # type: ignore[call-arg]
        await send(body(b"o", more=True))
        await partial(send, body(b"k"))()

    span = await serve(http_scope(), server.receive, send, app, time_split_every=split)
    assert tags(span)["http.status_code"] == "200"
    assert seen == [_kinds(send), _kinds(server.receive)]
    assert server.said == [start(), body(b"o", more=True), body(b"k")]
    assert server.awaited == 3


@pytest.mark.one_loop
@pytest.mark.parametrize("split", [0, 1])
async def test_receive_is_no_coroutine_function_where_the_servers_is_none(split: int) -> None:
    server = Server()
    seen: list[Any] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.extend((_kinds(receive), receive == server.receive_at_once, await receive()))
        await answers()(scope, receive, send)

    await serve(http_scope(), server.receive_at_once, server.send, app, time_split_every=split)
    assert seen == [_kinds(server.receive_at_once), True, REQUEST]


async def test_a_library_that_calls_it_from_a_thread_warns_of_nothing() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        def answer() -> None:
            async_to_sync(send)(start())
            async_to_sync(send)(body(b"ok"))

        await sync_to_async(answer)()

    async with traced(app) as shop:
        if sniffio.current_async_library() == "trio":
            pytest.skip("asgiref runs on asyncio")
        assert await call(shop.app, http_scope()) == [start(), body(b"ok")]
        assert tags(await shop.span())["http.status_code"] == "200"


@one_loop
async def test_a_call_that_is_not_awaited_sends_only_where_the_server_does_so() -> None:
    def app_of(made: list[Any]) -> App:
        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            made.extend((send(start(503)), send(body())))

        return app

    for kind, is_sent in (("a method", False), ("no coroutine function", True)):
        server, made = Server(), list[Any]()
        async with traced(app_of(made)) as shop:
            await shop.app(http_scope(), server.receive, SENDS[kind](server))
            assert (len(server.said) == 2) is is_sent, kind
            # the accelerator notes a message when `send` is called
            is_noted = is_sent or native is not None
            assert ("http.status_code" in tags(await shop.span())) is is_noted, kind
        for each in made:
            assert type(each) is CoroutineType
            each.close()


@one_loop
async def test_the_awaitable_of_a_server_is_handed_on() -> None:
    server, seen = Server(), list[Any]()
    results: list[Awaitable[None]] = []

    def send(message: Message) -> Awaitable[None]:
        results.append(server.send(message))
        return results[-1]

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        for message in (start(), body(b"o", more=True), body(b"k")):
            seen.append(send(message))
            await seen[-1]

    span = await serve(http_scope(), server.receive, send, app)
    assert tags(span)["http.status_code"] == "200"
    assert all(one is other for one, other in zip(seen, results, strict=True))


@one_loop
@pytest.mark.parametrize("kind", ["a method", "no coroutine function"])
async def test_a_message_that_is_wrong_is_the_servers_to_judge(kind: str) -> None:
    wrong: list[Any] = [{}, None, {"type": "http.response.start", "status": "many"}, {"type": 7}, body()]

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        for message in wrong:
            await send(message)

    server = Server()
    await serve(http_scope(), server.receive, SENDS[kind](server), app)
    assert server.said == wrong


@one_loop
@pytest.mark.parametrize("split", [0, 1])
@pytest.mark.parametrize("kind", ["http", "websocket", "odd"])
async def test_the_server_gets_what_the_application_returns(kind: str, split: int) -> None:
    """uvicorn complains of anything but None, and closes the connection."""

    async def app(scope: Scope, receive: Receive, send: Send) -> Any:
        return "a value"

    async with traced(app, time_split_every=split) as shop:
        for _ in range(2):
            assert await shop.app({**http_scope(), "type": kind}, Server().receive, Server().send) == "a value"


@one_loop
async def test_send_is_bound_to_nothing_else_and_takes_one_message() -> None:
    """As a server's method."""
    server = Server()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        class Context:
            reply = send

        await Context().reply(start())  # type: ignore[call-arg, misc]
        with pytest.raises(TypeError):
            send(body(), None)  # type: ignore[call-arg]
        assert list(inspect.signature(send).parameters) == ["message"]

    await serve(http_scope(), server.receive, server.send, app)
    assert server.said == [start()]


@one_loop
async def test_send_is_copied_and_held_weakly_and_has_types_as_a_servers() -> None:
    server, kept = Server(), list[Any]()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        copied = copy.deepcopy({"send": send})["send"]
        assert copied == send
        kept.append(weakref.ref(send))
        assert kept[0]() in (send, None)  # a method may be made anew each time
        assert {"message", "return"} <= set(typing.get_type_hints(send))
        await copied(start())

    # a method's copy has a copy of its object
    await serve(http_scope(), server.receive, _function(server), app)
    assert server.said == [start()]
    assert kept[0]() is None


class Broken:
    """An awaitable that is wrong."""

    def __await__(self) -> Any:
        return 7


@one_loop
async def test_an_awaitable_that_is_wrong_fails_as_without_the_middleware() -> None:
    def app(scope: Scope, receive: Receive, send: Send) -> Any:
        return Broken()

    async with traced(app) as shop:
        with pytest.raises(TypeError, match=r"__await__\(\) returned non-iterator of type 'int'"):
            await shop.app(http_scope(), Server().receive, Server().send)


class Held:
    """Something that a request has."""


@pytest.mark.parametrize("split", [0, 1])
@pytest.mark.parametrize("plain", [True, False], ids=["a coroutine", "an iterator"])
async def test_what_a_request_has_is_free_when_it_is_cancelled(plain: bool, split: int) -> None:
    """Without the garbage collector: a request and its exception do not hold each other."""
    held: list[weakref.ref[Held]] = []

    async def wait(*_: Any) -> None:
        own = Held()
        held.append(weakref.ref(own))
        scope.cancel()
        await anyio.sleep_forever()

    class Awaitable:
        def __init__(self, *arguments: Any) -> None:
            self.inner = wait(*arguments)

        def __await__(self) -> Any:
            return self.inner.__await__()

    async with traced(wait if plain else Awaitable, time_split_every=split) as shop:
        gc.disable()
        try:
            for _ in range(2):
                with anyio.CancelScope() as scope:
                    await shop.app(http_scope(), Server().receive, Server().send)
            await anyio.lowlevel.checkpoint()
            assert [each() for each in held] == [None, None]
        finally:
            gc.enable()


class Plain:
    """An awaitable whose iterator has a `__next__`, and nothing else."""

    def __await__(self) -> Any:
        return self

    def __iter__(self) -> Plain:
        return self

    def __next__(self) -> None:
        return None


@one_loop
@pytest.mark.parametrize("split", [0, 1])
@pytest.mark.parametrize("raised", [RuntimeError("enough"), asyncio.CancelledError(), GeneratorExit()])
async def test_what_is_thrown_into_an_iterator_without_a_throw_is_raised(raised: BaseException, split: int) -> None:
    def app(scope: Scope, receive: Receive, send: Send) -> Any:
        return Plain()

    async with traced(app, time_split_every=split) as shop:
        coroutine = shop.app(http_scope(), Server().receive, Server().send)
        assert coroutine.send(None) is None
        with pytest.raises(type(raised)) as seen:
            coroutine.throw(raised)
        assert seen.value is raised
        assert len(await shop.segments()) == 1


@one_loop
@pytest.mark.parametrize("split", [0, 1])
async def test_an_iterator_without_a_close_is_just_left(split: int) -> None:
    def app(scope: Scope, receive: Receive, send: Send) -> Any:
        return Plain()

    async with traced(app, time_split_every=split) as shop:
        coroutine = shop.app(http_scope(), Server().receive, Server().send)
        assert coroutine.send(None) is None
        coroutine.close()
        assert len(await shop.segments()) == 1


class Gone(OSError):
    """The exceptions of a server whose client went away."""


@one_loop
@pytest.mark.parametrize("at_once", [False, True])
async def test_a_client_that_is_gone_is_no_failure(at_once: bool) -> None:
    async def gone(message: Message) -> None:
        raise Gone

    def gone_at_once(message: Message) -> Awaitable[None]:
        raise Gone

    async with traced(says(body(more=True))) as shop:
        with pytest.raises(Gone):
            await shop.app(http_scope(), Server().receive, gone_at_once if at_once else gone)
        span = await shop.span()
    assert not span.is_error
    assert tags(span)["outcome"] == "cancelled"


@one_loop
async def test_a_websocket_is_followed_where_send_is_no_coroutine_function() -> None:
    server = Server()
    app = says({"type": "websocket.accept"}, {"type": "websocket.close", "code": 1000})
    span = await serve(websocket_scope(), server.receive, server.send_at_once, app)
    assert tags(span)["http.status_code"] == "101"


@pytest.mark.parametrize("type_", ["http", "websocket"])
async def test_scope_and_receive_are_the_servers_own(type_: str) -> None:
    seen: list[Any] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.extend((scope, receive))

    async def receive() -> Message:
        await anyio.sleep_forever()
        raise AssertionError

    async def send(message: Message) -> None:
        raise AssertionError

    scope = http_scope() if type_ == "http" else websocket_scope()
    given = dict(scope)
    # to list the tasks of a request takes to see what its tasks receive
    await serve(scope, receive, send, app, time_split_every=1, task_tree_every=0)
    assert seen[0] is scope
    assert seen[1] is receive
    assert {key: value for key, value in scope.items() if not key.startswith("swagent.")} == given
