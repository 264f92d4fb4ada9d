"""Faults that are planted in the agent's own code, to see whether the world finds them.

Each replaces one function by another that is wrong in one way. Only what the world finds counts as tested by it.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from swagent.errors import AmbiguousError, RetryableError
from swagent.pipeline.channel import Channel
from swagent.pipeline.delivery import Step
from swagent.pipeline.spill.records import HEAD_BYTES, Record, read_records

Make = Callable[[Any], Any]


@dataclass(frozen=True)
class Mutation:
    """One planted fault.

    :ivar target: the function that is replaced
    :ivar make: makes the wrong one from the right one
    """

    name: str
    target: str
    make: Make

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """Plant it, for a while."""
        owner, _, attribute = self.target.rpartition(".")
        found = _resolve(owner)
        with patch.object(found, attribute, self.make(getattr(found, attribute))):
            yield


def _resolve(path: str) -> Any:
    """A module, or a class in one."""
    import importlib  # noqa: PLC0415, RUF100

    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name) if name[:1].isupper() else importlib.import_module(path)


MUTATIONS: dict[str, Mutation] = {}


def _plant(name: str, target: str) -> Callable[[Make], Make]:
    def add(make: Make) -> Make:
        MUTATIONS[name] = Mutation(name, target, make)
        return make

    return add


_CHANNEL = "swagent.pipeline.channel.Channel"
_REPORTER = "swagent.pipeline.reporter.Reporter"
_POLICY = "swagent.pipeline.delivery.Policy"
_ROUTE = "swagent.pipeline.route.Route"
_FILES = "swagent.pipeline.spill.mover"
_BACKLOG = "swagent.pipeline.spill.backlog.Backlog"
_SPILLING = "swagent.pipeline.spill.channel.SpillingChannel"


# -- the channel and its ledger ---------------------------------------------------------------------------------------


@_plant("a lease that comes back is not put into the queue", f"{_CHANNEL}.restore")
def _(_: Any) -> Any:
    def restore(channel: Any, lease: Any) -> None:
        channel._give_back(lease)
        channel._ring()
        channel.wake_waiters()

    return restore


@_plant("a lease that comes back goes to the tail", "swagent.pipeline.record_queue.RecordQueue.put_back")
def _(_: Any) -> Any:
    def put_back(queue: Any, records: Any, times: Any, numbers: Any) -> None:
        queue.put((list(records), list(times), numbers[0].start, sum(map(len, records))))

    return put_back


@_plant("a settled lease still counts as under way", f"{_CHANNEL}._give_back")
def _(_: Any) -> Any:
    def give_back(channel: Any, lease: Any) -> bool:
        is_open = not lease.is_settled
        channel.leases.discard(lease)
        return is_open

    return give_back


@_plant("one record of a batch is not counted as confirmed", f"{_CHANNEL}.settle")
def _(settle: Any) -> Any:
    def miscount(channel: Any, lease: Any, reason: Any, dropped: Any = None) -> None:
        is_open = not lease.is_settled
        settle(channel, lease, reason, dropped)
        channel._ledger.confirmed -= is_open and reason is None and len(lease.records) > 1

    return miscount


@_plant("a dropped batch is counted twice", "swagent.ledger.Ledger.drop")
def _(drop: Any) -> Any:
    def twice(ledger: Any, reason: Any, count: int = 1) -> None:
        drop(ledger, reason, count * (1 + (count > 1)))

    return twice


@_plant("the bytes of an expired record stay counted", f"{_CHANNEL}._drop_head")
def _(_: Any) -> Any:
    def drop_head(channel: Any, reason: Any) -> None:
        channel._queue.take_one()
        channel._ledger.drop(reason)
        channel._held -= 1

    return drop_head


@_plant("a refusal is not counted", f"{_CHANNEL}.refuse")
def _(_: Any) -> Any:
    return lambda channel, reason: None


@_plant("a channel holds twice what was set", "swagent.pipeline.pipelines.bounds_of")
def _(bounds_of: Any) -> Any:
    def twice(signal: Any, config: Any) -> Any:
        bounds = bounds_of(signal, config)
        return bounds._replace(max_items=2 * bounds.max_items)

    return twice


@_plant("a full channel refuses one record too early", f"{_CHANNEL}.offer")
def _(offer: Any) -> Any:
    def refuse(channel: Any, payload: bytes, at: float | None = None) -> bool:
        from swagent.ledger import Refusal  # noqa: PLC0415, RUF100

        if channel._held == channel.bounds.max_items - 1:
            channel.refuse(Refusal.FULL)
            return False
        return bool(offer(channel, payload, at))

    return refuse


@_plant("expired records are sent", f"{_CHANNEL}._is_expired")
def _(_: Any) -> Any:
    return lambda channel: False


@_plant("a batch is larger than its bound", f"{_CHANNEL}.lease")
def _(lease: Any) -> Any:
    return lambda channel, max_items, max_bytes: lease(channel, 2 * max_items, max_bytes)


@_plant("the first record does not wake the reader", f"{_CHANNEL}.wake_reader")
def _(_: Any) -> Any:
    return lambda channel: None


@_plant("every third ring is lost", "swagent.pipeline.doorbell.Doorbell.ring")
def _(ring: Any) -> Any:
    count = 0

    def lose(bell: Any) -> None:
        nonlocal count
        count += 1
        if count % 3:
            ring(bell)

    return lose


@_plant("a group of pending records loses one", "swagent.pipeline.intake.Pending._take")
def _(take: Any) -> Any:
    def lose(pending: Any, most: int) -> Any:
        row = take(pending, most)
        # whole records only: an even number of fields, and of segments as many as a record has
        size = most // 64 if most > 64 else 2
        return row[size:] if len(row) > 40 * size else row

    return lose


# -- delivery ---------------------------------------------------------------------------------------------------------


@_plant("an ambiguous batch is sent again", f"{_POLICY}.decide")
def _(decide: Any) -> Any:
    def release(policy: Any, error: Any, *args: Any) -> Any:
        return Step.RELEASE if isinstance(error, AmbiguousError) else decide(policy, error, *args)

    return release


@_plant("at most once is taken for at least once", "swagent.pipeline.pipelines.Policy")
def _(policy: Any) -> Any:
    return lambda at_least_once: policy(at_least_once=True)


@_plant("an unsent batch is dropped", f"{_POLICY}.decide")
def _(decide: Any) -> Any:
    def drop(policy: Any, error: Any, *args: Any) -> Any:
        return Step.DROP_AMBIGUOUS if isinstance(error, RetryableError) else decide(policy, error, *args)

    return drop


@_plant("attempts are not counted", f"{_POLICY}.decide")
def _(decide: Any) -> Any:
    def endless(policy: Any, error: Any, attempt: int, *args: Any) -> Any:
        return decide(policy, error, min(attempt, 2), *args)

    return endless


@_plant("the budget of repeats has no end", "swagent.pipeline.delivery.RetryBudget.spend")
def _(_: Any) -> Any:
    return lambda budget: True


@_plant("a batch is confirmed when it fails", f"{_REPORTER}._settle")
def _(_: Any) -> Any:
    return lambda reporter, lease, step, refused: lease.confirm()


@_plant("a slot is not given back", f"{_REPORTER}._carry")
def _(carry: Any) -> Any:
    class Slots:
        count = 0

        def release(self) -> None:
            """Never."""

    async def keep(reporter: Any, lease: Any, transport: Any, slots: Any) -> None:
        Slots.count += 1
        await carry(reporter, lease, transport, Slots() if Slots.count % 5 == 0 else slots)

    return keep


@_plant("a failed call leaves the route open", f"{_REPORTER}._note")
def _(_: Any) -> Any:
    return lambda reporter, transport, error: None


# -- the route --------------------------------------------------------------------------------------------------------


@_plant("nothing rests between attempts", "swagent.pipeline.failover.Backoff.delay")
def _(_: Any) -> Any:
    return lambda backoff, failures, random: 0.0


@_plant("the backoff has no cap", "swagent.pipeline.failover.Backoff.delay")
def _(_: Any) -> Any:
    return lambda backoff, failures, random: random() * backoff.base * backoff.factor**failures


@_plant("an open route wakes no reporter", f"{_ROUTE}.opened")
def _(opened: Any) -> Any:
    def silent(route: Any, transport: Any) -> None:
        notify, route._notify = route._notify, lambda: None
        opened(route, transport)
        route._notify = notify

    return silent


@_plant("the heart beats once", "swagent.runtime.heartbeat.Heartbeat._keep")
def _(_: Any) -> Any:
    async def keep(heartbeat: Any, transport: Any) -> None:
        await heartbeat._route.wait_lost()

    return keep


# -- the stop ---------------------------------------------------------------------------------------------------------


@_plant("a cancelled stop takes three times its budget", "swagent.stop_budgets.CANCELLED_FLUSH")
def _(seconds: Any) -> Any:
    return 3 * seconds


@_plant("the stop takes three times its budget", "swagent.agent.Agent._stop")
def _(stop: Any) -> Any:
    async def late(agent: Any, grace: float) -> None:
        await stop(agent, 3 * grace)

    return late


@_plant("what is left at the stop is not counted", "swagent.pipeline.pipelines.Pipelines.end")
def _(_: Any) -> Any:
    def end(pipelines: Any) -> None:
        pipelines.close()
        pipelines.attach(None)

    return end


@_plant("connections stay open", "swagent.agent.Agent._close_hard")
def _(_: Any) -> Any:
    async def close(agent: Any, transport: Any) -> None:
        """Nothing."""

    return close


@_plant("a flush always says yes", "swagent.pipeline.pipelines.Pipelines._flush")
def _(flush: Any) -> Any:
    async def confirm(pipelines: Any, channel: Channel) -> bool:
        await flush(pipelines, channel)
        return True

    return confirm


# -- transports -------------------------------------------------------------------------------------------------------


@_plant("http: a call without an answer has not been sent", "swagent_transports._http_calls._judge_failure")
def _(_: Any) -> Any:
    return lambda call, failure: RetryableError(str(failure))


@_plant("http: a call has no deadline", "swagent_transports._http_calls.expire")
def _(_: Any) -> Any:
    async def never(scope: Any, seconds: float, over: Any) -> None:
        await over.wait()

    return never


@_plant("http: any answer confirms", "swagent_transports.http.HttpTransport._judge")
def _(_: Any) -> Any:
    return lambda transport, call, response: None


@_plant("grpc: a call without an answer has not been sent", "swagent_transports._grpc_calls.open_verdict")
def _(_: Any) -> Any:
    return lambda call, text: RetryableError(text)


@_plant("grpc: a call has no deadline", "swagent_transports._grpc_calls.wait_done")
def _(_: Any) -> Any:
    async def forever(call: Awaitable[Any], seconds: float) -> None:
        import asyncio  # noqa: PLC0415, RUF100

        await asyncio.wait({asyncio.ensure_future(call)})

    return forever


@_plant("grpc: windows that open are not noticed", "swagent_transports._grpclib_streams.Streams.take_window")
def _(_: Any) -> Any:
    return lambda streams, stream_id, increment: None


# -- the spill --------------------------------------------------------------------------------------------------------


@_plant("spill: no lease is written before the send", f"{_FILES}.lease")
def _(_: Any) -> Any:
    def lease(disk: Any, file: Any, most: int, most_bytes: int) -> Any:
        data = disk.read(file.name, file.position, file.size - file.position)
        records, size = read_records(data, most, most_bytes)
        return records, file.position + size

    return lease


@_plant("spill: a lease does not reach the disk", f"{_FILES}.lease")
def _(lease: Any) -> Any:
    class Lazy:
        def __init__(self, disk: Any) -> None:
            self.read = disk.read
            self.write = lambda name, at, data, sync: disk.write(name, at, data)

    return lambda disk, *args: lease(Lazy(disk), *args)


@_plant("spill: a torn end is taken for a record", "swagent.pipeline.spill.files.read_records")
def _(read: Any) -> Any:
    def trust(data: bytes, most: float = math.inf, most_bytes: float = math.inf) -> Any:
        records, size = read(data, most, most_bytes)
        if len(records) < most and most_bytes == math.inf and len(data) > size:
            last = records[-1].number if records else 0
            return [*records, Record(data[size:], 0.0, last + 1)], len(data)
        return records, size

    return trust


@_plant("spill: a file is removed before its records have verdicts", f"{_BACKLOG}._remove_settled")
def _(_: Any) -> Any:
    def remove(backlog: Any) -> None:
        backlog.done += [each.name for each in backlog.read]
        backlog.read = []

    return remove


@_plant("spill: a write that failed is forgotten", f"{_FILES}.append")
def _(append: Any) -> Any:
    def forget(disk: Any, file: Any, records: Any) -> Any:
        try:
            return append(disk, file, records)
        except OSError:
            return 0

    return forget


@_plant("spill: what was under way at a death is not counted", "swagent.pipeline.spill.spill.examine")
def _(examine: Any) -> Any:
    def hide(disk: Any, name: str) -> Any:
        found = examine(disk, name)
        if found is not None:
            found.file.settled = found.file.leased
        return found

    return hide


@_plant("spill: what was under way at a death is sent again", "swagent.pipeline.spill.spill.examine")
def _(examine: Any) -> Any:
    def again(disk: Any, name: str) -> Any:
        found = examine(disk, name)
        if found is not None:
            found.file.leased = found.file.settled = 0
            found.file.position = HEAD_BYTES
        return found

    return again


@_plant("spill: new records go before those on disk", f"{_SPILLING}._is_behind")
def _(_: Any) -> Any:
    return lambda channel: False


@_plant("spill: what dead processes have left is not taken over", "swagent.pipeline.spill.spill.Spill._take_over")
def _(take_over: Any) -> Any:
    async def leave(spill: Any) -> None:
        await spill._call(lambda: None)

    return leave


@_plant("spill: a file has no bound", "swagent.pipeline.spill.files.SpillFile.fitting")
def _(_: Any) -> Any:
    return lambda file, records: len(records)


@_plant("spill: the stop waits for a disk that hangs", "swagent.stop_budgets.SPILL_END")
def _(seconds: Any) -> Any:
    return 10 * seconds


@_plant("spill: records that come back stay counted as on disk", f"{_BACKLOG}.note_leased")
def _(note_leased: Any) -> Any:
    def count(backlog: Any, file: Any, count: int, position: int) -> None:
        note_leased(backlog, file, count, position)
        backlog.count += 1

    return count
