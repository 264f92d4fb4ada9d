"""The answers that are kept: when one is given again, and when another is made."""

from __future__ import annotations

import json

import anyio
import anyio.lowlevel
import pytest

from collector.made_traces import made
from collector.test_findings_of_a_trace import payment
from swagent.collector.api.memo import LONGEST, Memo
from swagent.collector.api.query_thread import QueryThread
from swagent.collector.store.store import Store

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio"])]


class Counted:
    """A query that counts its answers, and takes so many seconds of a clock."""

    def __init__(self, takes: float) -> None:
        self.store, self.count, self.takes, self.now = Store(), 0, takes, 1000.0
        self.kept = Memo(self.store, QueryThread(), self, 0.1, lambda: self.now)

    def __call__(self) -> dict[str, int]:
        self.count += 1
        self.now += self.takes
        return {"version": self.store.version, "count": self.count}

    async def ask(self) -> int:
        """Which of the answers the memo gives."""
        count: int = json.loads(await self.kept.ask())["count"]
        return count

    def change(self) -> None:
        """Something comes into the store."""
        for segment in made(payment()):
            self.store.add(segment)


async def test_an_answer_that_took_no_time_is_made_anew_once_the_store_has_changed() -> None:
    query = Counted(takes=0.05)
    assert await query.ask() == 1
    query.change()
    assert [await query.ask() for _ in range(2)] == [2, 2]


async def test_one_that_took_long_is_given_again_and_the_next_is_made_meanwhile() -> None:
    query = Counted(takes=0.5)
    assert await query.ask() == 1
    query.change()
    query.now += LONGEST
    assert await query.ask() == 1
    with anyio.fail_after(60):
        while await query.ask() == 1:
            await anyio.lowlevel.checkpoint()
    assert await query.ask() == 2
