"""Calls that are awaited, whose span C begins: as those that Python wraps alone."""

from __future__ import annotations

import asyncio
import gc
import inspect
import traceback
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from native.one_request import Pause
from record.recorded import recording
from swagent import entry_span
from swagent.agent_log import RateLimitedLog
from swagent.instrument import call, wrapping
from swagent.instrument.libraries.sql import asyncpg
from swagent.instrument.settings import Settings, use
from swagent.record.trace.model import Component, Layer

pytestmark = pytest.mark.native
IMPLEMENTATIONS: dict[str, Callable[..., Any]] = {
    "Python": lambda function, begin, finish, fail: wrapping._around_coroutine(function, begin, finish, fail, None),
    "the accelerator": wrapping._around_coroutine_by_c,
}


class Noted:
    """A call's `begin`, `finish` and `fail`, which note what they get.

    :ivar seen: their names, and what the call was, or came to
    """

    def __init__(self, **raised: type[BaseException]) -> None:
        self.seen: list[Any] = []
        self.raised = raised
        self.has_span = True

    def _note(self, name: str, *noted: Any) -> None:
        self.seen.append((name, *noted))
        if name in self.raised:
            raise self.raised[name]("of ours")

    def begin(self, owner: Any, args: Any, kwargs: Any) -> Any:
        self._note("begin", owner, args, kwargs)
        return self if self.has_span else None

    def finish(self, span: Any, result: Any, owner: Any, args: Any, kwargs: Any) -> None:
        assert span is self
        self._note("finish", result, owner, args, kwargs)

    def fail(self, span: Any, error: BaseException) -> None:
        assert span is self
        self._note("fail", type(error), str(error))

    def stop(self) -> None:
        self._note("stop")


async def ask(owner: Any, number: int, *more: int, error: Any = None, waits: bool = False) -> Any:
    """A library's."""
    if waits:
        await Pause()
    if error is not None:
        raise error("of the library")
    return (owner, number, *more)


def drive(coroutine: Any) -> Any:
    """Step by step, to its end."""
    try:
        while True:
            coroutine.send(None)
    except StopIteration as done:
        return done.value


def came_of(coroutine: Any) -> Any:
    """What a coroutine returns, or raises: with the functions that it comes through, each once, and its context."""
    try:
        return drive(coroutine)
    except BaseException as error:  # noqa: BLE001, RUF100
        names = list(dict.fromkeys(frame.name for frame in traceback.extract_tb(error.__traceback__)))
        return type(error), str(error), names, type(error.__context__), type(error.__cause__)


@pytest.fixture(autouse=True)
def _fresh_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call, "_limited", RateLimitedLog())


def by_both(act: Callable[[Any, Noted], Any], ends_well: bool = False, **raised: type[BaseException]) -> Any:
    """Do the same with both, and see that the same comes of it.

    :returns: what that was, and what was noted
    """
    found: list[Any] = []
    for wrap in IMPLEMENTATIONS.values():
        noted = Noted(**raised)
        traced = wrap(ask, noted.begin, wrapping.end_well if ends_well else noted.finish, noted.fail)
        found.append((act(traced, noted), noted.seen))
    assert found[0] == found[1]
    return found[1]


@pytest.mark.parametrize("has_span", [True, False])
@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        (("owner", 1), {}),
        (("owner", 1, 2), {"waits": True}),
        (("owner", *range(8)), {}),
        (("owner", *range(9)), {"waits": True}),
        (("owner", *range(40)), {"error": ValueError, "waits": True}),
        (("owner", 1), {"error": asyncio.CancelledError}),
        (("owner",), {"number": 1}),
        # those that the library refuses
        (("owner",), {}),
        (("owner", 1), {"unheard_of": 1}),
        (("owner", 1), {"number": 1}),
    ],
)
def test_a_call_is_passed_on(has_span: bool, args: Any, kwargs: Any) -> None:
    def act(traced: Any, noted: Noted) -> Any:
        noted.has_span = has_span
        return came_of(traced(*args, **kwargs))

    _, seen = by_both(act)
    assert seen[0] == ("begin", args[0], args[1:], kwargs)
    assert len(seen) == (2 if has_span else 1)
    assert [name for name, *_ in by_both(act, ends_well=True)[1]][1:] in ([], ["stop"], ["fail"])


@pytest.mark.parametrize("where", ["begin", "finish", "fail", "stop"])
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, asyncio.CancelledError])
@pytest.mark.parametrize("fails", [True, False])
@pytest.mark.parametrize("ends_well", [True, False])
def test_an_error_of_ours_is_noted_where_it_may_not_pass(
    where: str, error: type[BaseException], fails: bool, ends_well: bool
) -> None:
    def act(traced: Any, noted: Noted) -> Any:
        return came_of(traced("owner", 1, error=ValueError if fails else None))

    result, seen = by_both(act, ends_well, **{where: error})
    assert seen[0][0] == "begin"
    if where == "begin" and not issubclass(error, Exception):
        assert result[0] is error
        assert len(seen) == 1


def test_it_is_a_coroutine_function_which_begins_with_its_first_step() -> None:
    def act(traced: Any, noted: Noted) -> Any:
        assert inspect.iscoroutinefunction(traced)
        assert str(inspect.signature(traced)) == "(self: 'Any', *args: 'Any', **kwargs: 'Any') -> 'Any'"
        coroutine = traced("owner", 1)
        assert inspect.iscoroutine(coroutine)
        assert noted.seen == []
        coroutine.close()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            gc.collect()
        return [str(each.message) for each in caught]

    assert by_both(act) == ([], [])


@pytest.mark.parametrize("kind", [asyncio.CancelledError, GeneratorExit, ValueError])
def test_it_ends_in_the_middle(kind: type[BaseException]) -> None:
    def act(traced: Any, noted: Noted) -> Any:
        coroutine = traced("owner", 1, waits=True)
        coroutine.send(None)
        assert coroutine.cr_await.cr_code is ask.__code__
        if kind is GeneratorExit:
            return coroutine.close()
        with pytest.raises(kind):
            coroutine.throw(kind())
        return None

    assert by_both(act)[1][1:] == [("fail", kind, "")]


# -- asyncpg's --------------------------------------------------------------------------------------------------------


class Odd:
    """A connection that raises."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    @property
    def _reset_query(self) -> str:
        raise self._error


def connection(**others: Any) -> Any:
    """As asyncpg's, to a database."""
    parameters = SimpleNamespace(database=others.pop("database", "shop"))
    return SimpleNamespace(**{"_reset_query": "RESET ALL;", "_addr": ("db", 5432), "_params": parameters, **others})


BEGIN: Any = asyncpg._begin_by("PostgreSQL/AsyncPG/bind")
RESET = "RESET ALL;"
QUERIES: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = [
    (connection(), ("SELECT a FROM orders",), {}),
    (connection(), ("SELECT a FROM orders", 7), {"timeout": 1.0}),
    (connection(_addr="/run/socket", database=None), ("SELECT a FROM orders",), {}),
    (connection(), (), {"query": "SELECT a FROM orders"}),
    (connection(), (), {"command": "x"}),
    (connection(), (), {}),
    (connection(_reset_query=RESET), (RESET,), {}),
    (connection(), ("BEGIN",), {}),
    (connection(), (b"SELECT b FROM orders",), {}),
    (connection(), (type("Text", (str,), {})("SELECT c FROM orders"),), {}),
    (connection(_addr=None), ("SELECT a FROM orders",), {}),
    (connection(_addr=["db", 5432]), ("SELECT a FROM orders",), {}),
    (SimpleNamespace(_reset_query=None), ("SELECT a FROM orders",), {}),
    (Odd(ValueError("closed")), ("SELECT a FROM orders",), {}),
    (Odd(KeyboardInterrupt()), ("SELECT a FROM orders",), {}),
]


def shown(begin: Any, *query: Any) -> Any:
    """The span of a query, or what its begin raises."""
    try:
        span = begin(*query)
    except BaseException as error:  # noqa: BLE001, RUF100
        return type(error), str(error)
    if span is None:
        return None
    span.stop()
    return span.name, span.kind, span.peer, span.layer, span.component, span.tags


@pytest.mark.parametrize("settings", [Settings(), Settings(sql_statements=True, sql_parameters_max_length=100)])
def test_a_query_begins_as_in_python(settings: Settings) -> None:
    use(settings)
    try:
        with recording() as recorded:
            # outside of a request, in one, and inside of another call; a statement comes once, and again
            for query in QUERIES * 2:
                assert shown(BEGIN, *query) == shown(BEGIN.otherwise, *query)
            with entry_span("request"):
                for query in QUERIES * 2:
                    assert shown(BEGIN, *query) == shown(BEGIN.otherwise, *query)
                outer: Any = call.begin_call("GET", "stock:80", Layer.HTTP, Component.HTTPX)
                assert all(shown(BEGIN, *query) == shown(BEGIN.otherwise, *query) for query in QUERIES)
                outer.stop()
            assert recorded.names
    finally:
        use(Settings())


def test_its_module_is_that_of_python() -> None:
    assert BEGIN.__module__ == asyncpg.__name__
    with pytest.raises(TypeError):
        BEGIN(connection())
