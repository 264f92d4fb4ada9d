"""The fixture `trace` of pytest: what happens around a test that asks for it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import pytest

from .budget_error import BudgetError
from .recorder import Recorder
from .tracing import Trace

_RECORDER = pytest.StashKey[Recorder]()
_TRACE = pytest.StashKey[Trace]()


class _Hooks:
    """The hooks that are there once a test has asked for the fixture."""

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Judge the budgets of a test that passed, as a part of it."""
        result = yield
        trace = item.stash.get(_TRACE, None)
        message = "" if trace is None else _finish(trace)
        if message:
            pytest.fail(message, pytrace=False)
        return result

    @pytest.hookimpl
    def pytest_unconfigure(self, config: pytest.Config) -> None:
        """Stop the agent."""
        recorder = config.stash.get(_RECORDER, None)
        if recorder is not None:
            del config.stash[_RECORDER]
            recorder.close()


def _finish(trace: Trace) -> str:
    """Judge the budgets of a test at its end; the message of one that was exceeded, or nothing."""
    try:
        trace.finish()
    except BudgetError as error:
        return str(error)
    return ""


@contextmanager
def traced(request: pytest.FixtureRequest) -> Generator[Trace, None, None]:
    """Record for a test."""
    recorder = _recorder_of(request.config)
    node: Any = request.node
    recorder.begin()
    try:
        trace = node.stash[_TRACE] = Trace(recorder, node.name)
        _watch_loop_of(node, recorder)
        yield trace
    finally:
        recorder.end()
        node.stash[_TRACE] = None


def _recorder_of(config: pytest.Config) -> Recorder:
    """The recorder of this run, made for the first test that asks for it."""
    if _RECORDER not in config.stash:
        config.stash[_RECORDER] = Recorder()
        config.pluginmanager.register(_Hooks(), "swagent-trace")
    return config.stash[_RECORDER]


def _watch_loop_of(item: Any, recorder: Recorder) -> None:
    """Watch the loop of an async test, whichever plugin runs it: each of them calls the test's function."""
    function: Callable[..., Any] = item.obj
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def watched(*args: Any, **kwargs: Any) -> Any:
            recorder.watch_loop()
            return await function(*args, **kwargs)

        item.obj = watched
