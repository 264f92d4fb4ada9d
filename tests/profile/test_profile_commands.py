"""The commands that a collector may give: profile tasks within limits, one at a time, once each. All else changes
nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from asgi.calling import answers, call, http_scope
from swagent.abc import Command, Instance
from swagent.errors import RejectedError
from swagent.profile.profile_task import ProfileTask, read_task
from swagent_proto.messages import Command as Sent
from swagent_proto.messages import Commands, KeyStringValuePair
from swagent_transports import _grpc_commands as over_grpc

from .profiled import DEADLINE, Looks, Profiled, profile_command, profiled

pytestmark = pytest.mark.anyio
NOW = 1_700_000_000_000
MINUTE = 60_000


def read(**changes: str) -> Any:
    command = profile_command(**{"StartTime": str(NOW), "CreateTime": str(NOW), **changes})
    return read_task(command.arguments, NOW)


@pytest.mark.parametrize(
    ("name", "text", "field", "value"),
    [
        ("Duration", "5", "duration", 300.0),
        ("Duration", "0", "duration", 60.0),
        ("Duration", "52560000", "duration", 900.0),
        ("DumpPeriod", "0", "period", 0.01),
        ("DumpPeriod", "25", "period", 0.025),
        ("DumpPeriod", "999999999", "period", 60.0),
        ("MaxSamplingCount", "2147483647", "samples", 9),
        ("MaxSamplingCount", "0", "samples", 1),
        ("MinDurationThreshold", "250", "min_duration", 0.25),
    ],
)
def test_numbers_are_brought_into_their_range(name: str, text: str, field: str, value: float) -> None:
    assert getattr(read(**{name: text}), field) == value


@pytest.mark.parametrize(
    "changes",
    [
        *({"Duration": text} for text in ("-1", "1e309", "nan", "9" * 5000, "", "٣", "5.0", " 5")),
        {"TaskId": ""}, {"TaskId": "a\0b"}, {"EndpointName": "x" * 600}, {"EndpointName": "a\nb"},
        {"CreateTime": str(NOW + 48 * 60 * MINUTE)}, {"StartTime": "9" * 18},
    ],
)  # fmt: skip
def test_a_command_that_is_no_task_is_void(changes: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"is no|lies ahead|a day ahead"):
        read(**changes)


async def _until(condition: Callable[[], object]) -> None:
    with anyio.fail_after(DEADLINE):
        while not condition():  # noqa: ASYNC110  (it comes by the agent's loop)
            await anyio.sleep(0.005)


async def test_each_command_is_counted_and_only_one_task_is_carried_out() -> None:
    commands = [
        Command("FormatDisk", {"now": "yes"}),
        Command("", {}),
        profile_command(Duration="nan"),
        profile_command(TaskId="old", StartTime="1000", CreateTime="1000"),
        profile_command(TaskId="first"),
        profile_command(TaskId="second"),
    ]
    async with profiled(answers(), *commands) as shop:
        await shop.wait_watched()
        assert shop.outcomes() == {"unknown": 2, "malformed": 1, "expired": 1, "accepted": 1, "one_too_many": 1}
        assert shop.asked == [0], "no poll while a task is carried out"


async def test_a_task_that_is_sent_again_is_not_carried_out_again(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = Looks(monkeypatch)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await looks.wait("[awaiting")
        await answers()(scope, receive, send)

    command = profile_command()
    async with profiled(app, command) as shop:
        await shop.wait_watched()
        await call(shop.app, http_scope("/slow"))
        await shop.wait_finished()
        await _until(lambda: shop.outcomes().get("replayed", 0) >= 2)
        assert shop.finished == ["task-1"]
        assert shop.asked[-1] == int(command.arguments["CreateTime"])
        assert shop.agent.tracer.request_watch is None


def later(task: str, minutes: int) -> Command:
    """A task that begins in so many minutes."""
    return profile_command(TaskId=task, StartTime=str(int(time.time() * 1000) + minutes * MINUTE))


class Begun:
    """Notes which tasks begin, each over at once, and lets time pass by the clock that they are judged by."""

    def __init__(self, shop: Profiled, monkeypatch: pytest.MonkeyPatch) -> None:
        self.tasks: list[str] = []
        self._shop = shop
        self._set = monkeypatch.setattr
        self._set(shop.agent._recording.profiler, "start", self._start)

    def _start(self, task: ProfileTask, is_over: Callable[[], object]) -> None:
        self.tasks.append(task.id)
        is_over()

    def jump(self, minutes: int) -> None:
        """So many minutes after now."""
        self._set(self._shop.agent._recording.profiler, "_clock", lambda: time.time() + minutes * 60)

    async def give(self, *commands: Command) -> None:
        """Have the collector give these, until the agent has asked at least twice."""
        self._shop.commands[:] = commands
        asked = len(self._shop.asked)
        await _until(lambda: len(self._shop.asked) >= asked + 2)


async def test_a_task_that_begins_later_holds_up_no_question_and_no_other_task(monkeypatch: pytest.MonkeyPatch) -> None:
    async with profiled(answers()) as shop:
        begun = Begun(shop, monkeypatch)
        await begun.give(later("tomorrow", 23 * 60))
        await begun.give()
        assert begun.tasks == []
        await begun.give(profile_command(TaskId="now"))
        await _until(lambda: shop.finished == ["now"])
        begun.jump(23 * 60 + 1)
        await _until(lambda: shop.finished == ["now", "tomorrow"])
        assert begun.tasks == ["now", "tomorrow"]


async def test_tasks_that_wait_begin_in_the_order_of_their_times(monkeypatch: pytest.MonkeyPatch) -> None:
    async with profiled(answers()) as shop:
        begun = Begun(shop, monkeypatch)
        for command in (later("second", 120), later("missed", 30), later("first", 60)):
            await begun.give(command)
        begun.jump(61)
        await _until(lambda: shop.finished == ["first"])
        begun.jump(121)
        await _until(lambda: shop.finished == ["first", "second"])
        assert begun.tasks == ["first", "second"]
        assert (shop.outcomes()["accepted"], shop.outcomes()["expired"]) == (3, 1)


@pytest.mark.gate
async def test_few_tasks_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    async with profiled(answers()) as shop:
        begun = Begun(shop, monkeypatch)
        for number in range(20):
            await begun.give(later(f"task-{number}", 60 + number))
        assert (shop.outcomes()["accepted"], shop.outcomes()["one_too_many"]) == (16, 4)
        begun.jump(60)
        await _until(lambda: begun.tasks == ["task-0"])


async def test_a_task_that_waits_begins_while_a_collector_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    async with profiled(answers()) as shop:
        begun = Begun(shop, monkeypatch)
        transport: Any = shop.agent._transports[0]
        hanging = anyio.Event()
        command = profile_command(StartTime=str(int(time.time() * 1000) + 500))

        async def hang(*_: object) -> list[Command]:
            if not shop.outcomes().get("accepted"):
                return [command]
            hanging.set()
            await anyio.sleep_forever()
            raise AssertionError

        transport.profile_commands = hang
        await _until(lambda: begun.tasks == ["task-1"])
        await hanging.wait()


async def test_answers_that_fail_are_counted_and_asked_again() -> None:
    verdicts: list[Exception] = [RejectedError("an answer that cannot be read")]

    async def fail(*_: object) -> None:
        raise verdicts[0]

    async with profiled(answers()) as shop:
        transport: Any = shop.agent._transports[0]
        transport.profile_commands = fail
        await _until(lambda: shop.outcomes().get("unanswered", 0) >= 2)
        assert shop.agent.statistics().complete
        assert shop.agent.tracer.request_watch is None


async def test_no_poll_where_it_is_off() -> None:
    async with profiled(answers(), profile_command(), profile_active=False) as shop:
        assert shop.agent._tasks._profile_tasks is None
        assert shop.agent.statistics().profile.state == "off: switched off"
    assert shop.asked == []


@pytest.mark.one_loop
async def test_an_answer_over_grpc_is_read_or_refused() -> None:
    given = profile_command()
    pairs = [KeyStringValuePair(*each) for each in given.arguments.items()]
    assert await over_grpc.read_commands(bytes(Commands([Sent(given.name, pairs)]))) == [given]
    assert await over_grpc.read_commands(b"") == ()
    for answer in (
        b"\x0a\x00" * 129,
        b"\x8a\x00\x00" * 129,
        b"\x0a\x82\x02" + b"\x12\x00" * 129,
        bytes(9000),
        b"\x0a\x7fshort",
        b"\x0a\x03\x0a\x01\xff",
        b"\xff" * 20,
    ):
        with pytest.raises(RejectedError):
            await over_grpc.read_commands(answer)
    assert over_grpc.question(Instance("shop", "i1"), 7) == b"\x0a\x04shop\x12\x02i1\x18\x07"
    assert over_grpc.finish(Instance("shop", "i1"), "t") == b"\x0a\x04shop\x12\x02i1\x1a\x01t"
