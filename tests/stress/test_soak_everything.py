"""The parts of a soak with `--everything` that need no server."""

from __future__ import annotations

import pytest

from stress.soak import report
from stress.soak.cells import Cell
from stress.soak.evidence import Counts, Evidence, Sample
from stress.soak.profiling import ENDPOINT, tasks_for
from stress.soak.servers import VARIABLE, Servers, read_servers
from swagent.abc import Command
from swagent.profile.profile_task import COMMAND, read_task
from swagent.signals import Signal
from swagent_proto.messages import Commands, ProfileTaskCommandQuery

NOW = 1_700_000_000_000


@pytest.fixture(autouse=True)
def _now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stress.soak.profiling.time.time", lambda: NOW / 1000)


def ask(last: int) -> list[Command]:
    question = ProfileTaskCommandQuery("soak", "soak-1", last)
    answer = Commands().parse(tasks_for(bytes(question)))
    return [Command(each.command, {pair.key: pair.value for pair in each.args}) for each in answer.commands]


def test_an_agent_without_a_task_is_given_one_that_it_can_carry_out() -> None:
    [command] = ask(0)
    task = read_task(command.arguments, NOW)
    assert (command.name, task.endpoint, task.duration, task.created) == (COMMAND, ENDPOINT, 60.0, NOW)


def test_its_next_task_comes_when_a_minute_is_over() -> None:
    assert ask(NOW - 59_999) == []
    assert len(ask(NOW - 60_000)) == 1


def test_the_applications_read_where_the_servers_are() -> None:
    servers = Servers("postgresql://shop@127.0.0.1:1/shop", 2, 3, "amqp://guest:guest@127.0.0.1:4/", "http://x:5/")
    assert read_servers(servers.environ()[VARIABLE]) == servers


def test_the_report_shows_whether_requests_got_slower() -> None:
    sample = Sample(0.0, 1, 1, 1, 1, {Signal.SEGMENT: Counts(offered=4)})
    slower = Evidence(Cell("grpc", "asyncio"), calm=[0.001] * 200 + [0.002] * 200, samples=[sample] * 3)
    assert "| 1.0 → 2.0 |" in report.render([slower], [])
    assert "| - | - | - |" in report.render([Evidence(Cell("grpc", "trio"), samples=[sample] * 3)], [])
