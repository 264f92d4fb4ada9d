"""uWSGI: Python need not learn of its forks for the agent to do so, and a missing flag is named."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

from swagent import forks
from swagent.hosting import uwsgi as following
from swagent.hosting.uwsgi import follow_uwsgi
from swagent.startup import import_hook

THREADS = "--enable-threads"


@pytest.fixture
def uwsgi(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The module that uWSGI has in its interpreter, in the first worker."""
    module: Any = ModuleType("uwsgi")
    module.has_threads = 0
    module.worker_id = lambda: 1
    monkeypatch.setitem(sys.modules, "uwsgi", module)
    monkeypatch.setattr(following, "_is_examined", False)
    yield module
    import_hook._waiting.pop("uwsgidecorators", None)


@pytest.fixture
def forked(monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """As if this process were a child that Python has not learned of; what was done in it."""
    done: list[str] = []
    monkeypatch.setattr(forks, "_in_child", [lambda: done.append("ours")])

    def fork() -> list[str]:
        monkeypatch.setattr(forks, "_process", 0)
        done.clear()
        return done

    return fork


def test_a_fork_is_learned_of_by_uwsgis_hook_beside_the_applications_own(
    uwsgi: Any, forked: Callable[[], list[str]]
) -> None:
    done = forked()
    uwsgi.post_fork_hook = lambda: done.append("theirs")
    follow_uwsgi(in_each_worker=True)
    done = forked()
    uwsgi.post_fork_hook()
    assert done == ["ours", "theirs"]
    uwsgi.post_fork_hook()
    assert done == ["ours", "theirs", "theirs"], "once in each process"


def test_a_fork_is_learned_of_beside_uwsgis_decorators(
    uwsgi: Any, forked: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    follow_uwsgi(in_each_worker=True)
    decorators: Any = ModuleType("uwsgidecorators")
    decorators.postfork_chain = []
    for hook in import_hook._waiting["uwsgidecorators"]:
        hook(decorators)
    done = forked()
    for each in decorators.postfork_chain:
        each()
    assert done == ["ours"]


def test_what_is_asked_for_in_a_worker_alone_learns_of_the_fork_there(
    uwsgi: Any, forked: Callable[[], list[str]]
) -> None:
    done = forked()
    follow_uwsgi(in_each_worker=False)
    assert done == ["ours"]


@pytest.mark.parametrize(
    ("worker", "each_looks", "said"),
    [(1, [True, False], 1), (2, [True, False], 0), (2, [False], 1)],
    ids=["once", "by the first of many alone", "by one that starts its agent alone"],
)
def test_a_version_whose_threads_are_off_is_warned_of(
    worker: int, each_looks: list[bool], said: int, uwsgi: Any, caplog: pytest.LogCaptureFixture
) -> None:
    uwsgi.worker_id = lambda: worker
    for each in each_looks:
        follow_uwsgi(in_each_worker=each)
    assert [record.levelno for record in caplog.records if THREADS in record.getMessage()] == [logging.WARNING] * said
    assert len(caplog.records) == said


def test_one_with_threads_is_not_warned_of(uwsgi: Any, caplog: pytest.LogCaptureFixture) -> None:
    uwsgi.has_threads = 1
    follow_uwsgi(in_each_worker=False)
    assert not caplog.records


def test_an_application_of_that_name_is_no_uwsgi(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(following, "_is_examined", False)
    monkeypatch.setitem(sys.modules, "uwsgi", ModuleType("uwsgi"))
    follow_uwsgi(in_each_worker=False)
    monkeypatch.delitem(sys.modules, "uwsgi")
    follow_uwsgi(in_each_worker=False)
    assert not caplog.records
