"""The flags of uWSGI, by the rows of the table in docs/run.md: those that lose records are warned of, no other."""

from __future__ import annotations

import logging
import sys
from types import ModuleType
from typing import Any

import pytest

from swagent.hosting import uwsgi_flags
from swagent.hosting.uwsgi_flags import flaw_of, warn_of_uwsgi_flags

FORKS, THREADS = "--py-call-osafterfork", "--enable-threads"
LOSING = ["--master --enable-threads --lazy-apps", "--master --enable-threads", "--master", ""]
WHOLE = [
    "--master --enable-threads --py-call-osafterfork",
    "--master --enable-threads --lazy-apps --py-call-osafterfork",
    "--master --threads=2 --py-call-osafterfork",
    "--master --threads=2 --lazy-apps --py-call-osafterfork",
    "--enable-threads --py-call-osafterfork",
    "--enable-threads --lazy-apps --py-call-osafterfork",
    "--master --py-call-uwsgi-fork-hooks",
    "--master --enable-threads --lazy-apps --py-call-osafterfork --gevent=10",
    "--master --enable-threads --lazy-apps --py-call-osafterfork --gevent=10 --gevent-monkey-patch",
    "--master --py-call-osafterfork",
    "--master --lazy-apps --py-call-osafterfork",
]


def options_of(flags: str) -> dict[str, Any]:
    """As uWSGI has them in `uwsgi.opt`."""
    pairs = (flag.removeprefix("--").partition("=") for flag in flags.split())
    return {name: value.encode() if equals else True for name, equals, value in pairs}


def lacking(flags: str, *, processes: int = 4, has_threads: bool = True) -> str:
    """The flag that the sentence names."""
    sentence = flaw_of(options_of(flags), processes=processes, has_threads=has_threads) or ""
    return sentence.partition(":")[0].removeprefix("uWSGI runs without ")


@pytest.mark.parametrize("flags", LOSING)
def test_workers_that_number_alike_are_warned_of(flags: str) -> None:
    assert lacking(flags) == FORKS


@pytest.mark.parametrize("flags", WHOLE)
def test_what_loses_nothing_is_not_warned_of(flags: str) -> None:
    assert lacking(flags) == ""


def test_a_single_process_needs_no_flag_unless_a_master_loads_the_application() -> None:
    assert lacking("", processes=1) == ""
    assert lacking("--master --lazy-apps", processes=1) == ""
    assert lacking("--master", processes=1) == FORKS


def test_a_version_whose_threads_are_off_is_warned_of() -> None:
    assert lacking("--master --py-call-osafterfork", has_threads=False) == THREADS
    assert lacking("", processes=1, has_threads=False) == THREADS


@pytest.mark.parametrize(("value", "expected"), [(b"true", ""), (b"1", ""), (b"false", FORKS)])
def test_a_file_of_settings_may_say_that_a_flag_is_off(value: bytes, expected: str) -> None:
    sentence = flaw_of({"py-call-osafterfork": value}, processes=2, has_threads=True)
    assert (expected in sentence) if sentence is not None else expected == ""


def serve_by_uwsgi(monkeypatch: pytest.MonkeyPatch, *, worker: int, flags: str = "--master --lazy-apps") -> None:
    module: Any = ModuleType("uwsgi")
    module.opt, module.numproc, module.has_threads = options_of(flags), 2, 1
    module.worker_id = lambda: worker
    monkeypatch.setitem(sys.modules, "uwsgi", module)
    monkeypatch.setattr(uwsgi_flags, "_is_examined", False)


@pytest.mark.parametrize(
    ("worker", "each_looks", "said"),
    [(1, [True, False], 1), (2, [True, False], 0), (2, [False], 1)],
    ids=["once", "by the first of many alone", "by one that starts its agent alone"],
)
def test_who_says_it(
    worker: int, each_looks: list[bool], said: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    serve_by_uwsgi(monkeypatch, worker=worker)
    for each in each_looks:
        warn_of_uwsgi_flags(in_each_worker=each)
    assert [record.levelno for record in caplog.records if FORKS in record.getMessage()] == [logging.WARNING] * said
    assert len(caplog.records) == said


def test_an_application_of_that_name_is_no_uwsgi(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    serve_by_uwsgi(monkeypatch, worker=1)
    monkeypatch.setitem(sys.modules, "uwsgi", ModuleType("uwsgi"))
    warn_of_uwsgi_flags(in_each_worker=False)
    monkeypatch.delitem(sys.modules, "uwsgi")
    warn_of_uwsgi_flags(in_each_worker=False)
    assert not caplog.records
