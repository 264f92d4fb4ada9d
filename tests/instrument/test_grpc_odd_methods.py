"""grpc: methods of an unusual kind, and wrong ones, do what they do without the agent."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import grpc
import pytest

from record.recorded import Recorder
from swagent import local_span
from swagent.instrument import uninstrument

from .ends import root_of, wait_for_ends

INSTRUMENTED = ("grpc",)
NEEDS = ("betterproto==2.0.0b7", "grpclib==0.4.9", "protobuf>=5.26", "starlette>=0.40", "uvicorn>=0.32")
PATIENCE = 10.0


class Seen(NamedTuple):
    """The outcome of a call as its caller sees it."""

    answers: list[bytes]
    code: str
    details: str


class Countdown:
    """An iterator of the application's, which is no iterable."""

    def __init__(self) -> None:
        self._left = 2

    def __next__(self) -> bytes:
        self._left -= 1
        if self._left < 0:
            raise StopIteration
        with local_span("one"):
            return b"%d" % self._left


class Callables:
    """An object that is called."""

    def __call__(self, request: Any, context: Any) -> bytes:
        return b"called"


class AsyncCallable:
    """The same with a coroutine."""

    async def __call__(self, request: Any, context: Any) -> bytes:
        return b"called"


class AsyncStreaming:
    """The same with an asynchronous generator."""

    async def __call__(self, request: Any, context: Any) -> Any:
        yield b"called"


def a_list(request: Any, context: Any) -> Any:
    return [b"a", b"b"]


def nothing(request: Any, context: Any) -> Any:
    return None


def an_iterator(request: Any, context: Any) -> Iterator[bytes]:
    return iter([b"a", b"b"])


def a_countdown(request: Any, context: Any) -> Any:
    return Countdown()


def a_generator(request: Any, context: Any) -> Iterator[bytes]:
    with local_span("one"):
        yield b"a"


@functools.wraps(a_generator)
def a_decorated_generator(request: Any, context: Any) -> Iterator[bytes]:
    return a_generator(request, context)


def refused(request: Any, context: Any) -> Iterator[bytes]:
    raise ValueError("no")


def broken(request: Any, context: Any) -> Iterator[bytes]:
    yield b"a"
    raise ValueError("no")


async def an_async_generator(request: Any, context: Any) -> Any:
    yield b"a"


STREAMS: list[Any] = [
    a_list, nothing, an_iterator, a_countdown, a_generator, a_decorated_generator, refused, broken, an_async_generator,
    AsyncStreaming(),
]  # fmt: skip
UNARIES: list[Any] = [a_list, nothing, Callables(), AsyncCallable(), a_generator, functools.partial(a_generator)]


def _name(method: Any) -> str:
    return getattr(method, "__name__", type(method).__name__)


def _handler(method: Any, is_stream: bool) -> grpc.GenericRpcHandler:
    make = grpc.unary_stream_rpc_method_handler if is_stream else grpc.unary_unary_rpc_method_handler
    return grpc.method_handlers_generic_handler("odd.Odd", {"Call": make(method, response_serializer=_written)})


def _written(answer: Any) -> bytes:
    if not isinstance(answer, bytes):
        raise TypeError(f"{type(answer).__name__} is no answer")
    return answer


def _ask(target: str, is_stream: bool) -> Seen:
    """Ask by a channel that is not recorded."""
    answers: list[bytes] = []
    with grpc.insecure_channel(target) as channel:
        kind = channel.unary_stream if is_stream else channel.unary_unary
        call = kind("/odd.Odd/Call")
        try:
            if is_stream:
                found = call(b"", timeout=PATIENCE)
                answers.extend(found)
                return Seen(answers, str(found.code()), found.details())
            answers.append(call(b"", timeout=PATIENCE))
            return Seen(answers, "OK", "")
        except grpc.RpcError as error:
            failed: Any = error
            return Seen(answers, str(failed.code()), failed.details())


def _blocking(method: Any, is_stream: bool) -> Seen:
    with ThreadPoolExecutor(2) as pool:
        server = grpc.server(pool, [_handler(method, is_stream)])
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        try:
            return _ask(f"127.0.0.1:{port}", is_stream)
        finally:
            server.stop(0).wait(PATIENCE)


def _on_asyncio(method: Any, is_stream: bool) -> Seen:
    async def serve() -> Seen:
        server = grpc.aio.server(handlers=[_handler(method, is_stream)])
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        try:
            return await asyncio.to_thread(_ask, f"127.0.0.1:{port}", is_stream)
        finally:
            await server.stop(None)

    return asyncio.run(serve())


# a coroutine that is not awaited is what makes some of them wrong
@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("serve", [_blocking, _on_asyncio], ids=["blocking", "asyncio"])
@pytest.mark.parametrize(
    ("method", "is_stream"),
    [*((each, True) for each in STREAMS), *((each, False) for each in UNARIES)],
    ids=[*(f"{_name(each)}, streaming" for each in STREAMS), *map(_name, UNARIES)],
)
def test_a_method_of_any_kind_does_what_it_does_without_the_agent(
    method: Any, is_stream: bool, serve: Callable[[Any, bool], Seen], recorder: Recorder
) -> None:
    recorded = serve(method, is_stream)
    uninstrument("grpc")
    assert recorded == serve(method, is_stream)


@pytest.mark.parametrize("method", [an_iterator, a_countdown, a_decorated_generator])
def test_a_method_that_returns_an_iterator_is_recorded_until_its_end(method: Any, recorder: Recorder) -> None:
    assert _blocking(method, True).code == "StatusCode.OK"
    _, [served, *_] = wait_for_ends(recorder, 2)
    assert ("grpc.status_code", "OK") in root_of(served).tags
    assert [span.name for span in served.spans if span.id] == {
        an_iterator: [], a_countdown: ["one", "one"], a_decorated_generator: ["one"]
    }[method]  # fmt: skip


def test_a_method_that_returns_a_list_is_well_on_asyncio(recorder: Recorder) -> None:
    assert _on_asyncio(a_list, True) == Seen([b"a", b"b"], "StatusCode.OK", "")
    _, [served] = wait_for_ends(recorder, 2)
    assert not root_of(served).failed
    assert ("grpc.status_code", "OK") in root_of(served).tags


@pytest.mark.parametrize("method", [a_list, nothing, refused, broken])
def test_a_method_that_fails_is_recorded_as_failed(method: Any, recorder: Recorder) -> None:
    assert _blocking(method, True).code == "StatusCode.UNKNOWN"
    _, [served] = wait_for_ends(recorder, 2)
    assert root_of(served).failed


def test_a_method_that_answers_by_a_callback_is_left_alone(recorder: Recorder) -> None:
    def answer(request: Any, context: Any, send: Any) -> None:
        send(b"a")
        send(None)

    method: Any = answer
    method.experimental_non_blocking = True
    assert _blocking(method, True) == Seen([b"a"], "StatusCode.OK", "")
