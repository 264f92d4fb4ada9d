"""Finalisers, signal handlers and audit hooks run between any two steps of ours: they may log, start and stop."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import pytest

import swagent
from runtime.worlds import config
from swagent import system_thread
from swagent.hosting import agent_thread
from swagent.instrument.opening_line import say_opening
from swagent.runtime import first_record
from swagent.testing import MemoryCollector

# Of the agent: a start and a stop that take longer wait for something.
BUDGET = 2.0


def log() -> None:
    logging.getLogger("application").warning("garbage")


def start() -> None:
    swagent.start(config(log_reporter_active=True))


def start_with_a_record() -> None:
    agent_thread.start_if_none(config(log_reporter_active=True))


INTERRUPTIONS: dict[str, Callable[[], object]] = {
    "log": log,
    "start": start,
    "stop": swagent.stop,
    "a first record": start_with_a_record,
}


@pytest.fixture(autouse=True)
def nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    collector = MemoryCollector()
    monkeypatch.setattr("swagent.agent.find_transport", lambda _: collector.transport)
    yield
    stop_all()


def stop_all() -> None:
    """Each `start()` that found an agent has a `stop()` of its own."""
    while agent_thread.running() is not None or agent_thread._adopted:
        swagent.stop()
    first_record.forget()
    deadline = time.monotonic() + BUDGET
    while system_thread.alive():
        assert time.monotonic() < deadline, "a thread of the agent's goes on"
        time.sleep(0.001)


def interrupted_at(step: int, interruption: Callable[[], object]) -> bool:
    """Start and stop an agent, and interrupt that at the how many-th line of `agent_thread`; whether there is one."""
    seen = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal seen
        if frame.f_code.co_filename != agent_thread.__file__:
            return None
        if event == "line":
            seen += 1
            if seen == step:
                sys.settrace(None)
                interruption()
        return trace

    first_record.when_recorded(config(log_reporter_active=True), start_with_a_record)
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        start()
        swagent.stop()
    finally:
        sys.settrace(before)
    return seen >= step


@pytest.mark.slow
@pytest.mark.parametrize("name", INTERRUPTIONS)
def test_a_start_and_a_stop_can_be_interrupted_anywhere(name: str) -> None:
    for step in range(1, 1000):
        began = time.monotonic()
        reached = interrupted_at(step, INTERRUPTIONS[name])
        assert time.monotonic() - began < BUDGET, f"at step {step}"
        stop_all()
        if not reached:
            break
    assert step > 50, "too few steps of the start were seen"


def test_a_stop_amid_the_start_leaves_no_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a signal handler's, while the application waits for the start."""
    monkeypatch.setattr(agent_thread, "follow_uwsgi", lambda **_: swagent.stop())
    began = time.monotonic()
    start()
    assert time.monotonic() - began < BUDGET
    assert agent_thread.running() is None


def test_a_record_amid_the_start_starts_no_second_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_thread, "follow_uwsgi", lambda **_: start_with_a_record())
    agent = swagent.start(config())
    assert agent_thread.running() is agent
    assert len(system_thread.alive()) == 1


def test_a_start_that_does_not_come_to_its_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread may wait for the lock of an import that the application's thread holds."""
    let_go = threading.Event()

    async def never(_: object) -> None:
        let_go.wait(10)

    monkeypatch.setattr(agent_thread, "_LONGEST_START", 0.05)
    monkeypatch.setattr(swagent.Agent, "__aenter__", never)
    with pytest.raises(swagent.AgentStateError, match="did not start within"):
        swagent.start(config())
    assert agent_thread.running() is None
    monkeypatch.undo()
    let_go.set()


class WaitsForTheApplication(logging.Handler):
    """As one that sends each line to a server in the same process, which is busy until its request is over."""

    def __init__(self, is_over: threading.Event) -> None:
        super().__init__()
        self._is_over = is_over
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if self._is_over.wait(10):
            self.lines.append(record.getMessage())


@pytest.mark.parametrize("backend", ["auto", "asyncio", "trio"])
def test_no_line_is_logged_while_the_application_waits(backend: str) -> None:
    is_over = threading.Event()
    handler = WaitsForTheApplication(is_over)
    level = logging.root.level
    logging.root.addHandler(handler)
    logging.root.setLevel(logging.DEBUG)
    try:
        began = time.monotonic()
        agent_thread.start_if_none(config(backend=backend, collector="collector.example:11800", log_level="debug"))
        say_opening(config(backend=backend))
        assert time.monotonic() - began < BUDGET
        assert handler.lines == []
        is_over.set()
        stop_all()
        assert [line for line in handler.lines if "reports to" in line]
    finally:
        logging.root.removeHandler(handler)
        logging.root.setLevel(level)


def test_a_system_that_lacks_descriptors_is_one_line(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def lacking(_: object) -> object:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(agent_thread, "find_transport", lacking)
    monkeypatch.setattr(agent_thread, "_failed_in", 0)
    agent_thread.start_if_none(config())
    [line] = [each for each in caplog.records if each.levelno >= logging.ERROR]
    assert (line.getMessage(), line.exc_info) == ("swagent is off: [Errno 24] Too many open files", None)
    assert agent_thread.running() is None
