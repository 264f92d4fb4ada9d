"""Several collectors: one is in use, the others are in reserve."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from runtime.worlds import (
    Collectors,
    ambiguous,
    config,
    failing_once,
    outcome,
    record,
    sent_by,
    unreachable,
)
from swagent import Agent
from swagent.errors import AmbiguousError, RejectedError, RetryableError
from swagent.testing import Behaviour

pytestmark = pytest.mark.anyio


def agent_with(collectors: Collectors, **changes: Any) -> Agent:
    return Agent(config(collector=collectors.addresses, **changes), transport=collectors.transport)


async def delivered(agent: Agent, count: int) -> None:
    record(count)
    with anyio.fail_after(5):
        assert await agent.flush(5)


@pytest.mark.parametrize(
    ("failure", "lost"),
    [
        (RetryableError("connection refused"), {}),
        (AmbiguousError("reset"), {"dropped ambiguous": 4}),
        (RejectedError("token", pause=60.0), {"dropped rejected": 4}),
    ],
    ids=["unsent", "ambiguous", "rejected"],
)
async def test_when_it_fails_the_next_one_takes_over(failure: Exception, lost: dict[str, int]) -> None:
    collectors = Collectors(2)
    async with agent_with(collectors) as agent:
        await delivered(agent, 1)
        collectors[0].behaviour = failing_once(failure, then=unreachable)
        record(4)
        with anyio.fail_after(5):
            assert await agent.flush(5) is not bool(lost)
        await delivered(agent, 2)
        assert outcome(agent) == {"confirmed": 3 if lost else 7, **lost}
    assert collectors.counts() == ([1, 2] if lost else [1, 6])
    arrived = sent_by(collectors.members)
    assert len(set(arrived)) == len(arrived)


@pytest.mark.parametrize("failure", [unreachable, ambiguous], ids=["unsent", "ambiguous"])
async def test_while_stopping_each_collector_gets_its_try_however_many_batches_fail(failure: Behaviour) -> None:
    """Four batches under way fail together: that is one failure of one collector."""
    collectors = Collectors(3)
    async with agent_with(collectors) as agent:
        await delivered(agent, 1)
        collectors[0].behaviour = failure
        collectors[1].behaviour = unreachable
        record(6 * 512)
    counts = outcome(agent)
    ambiguous_ones = counts.pop("dropped ambiguous", 0)
    assert (ambiguous_ones > 0) is (failure is ambiguous)
    assert counts == {"confirmed": 6 * 512 + 1 - ambiguous_ones}
    assert collectors.counts() == [1, 0, 6 * 512 - ambiguous_ones]


async def test_stopping_with_all_of_them_dead_does_not_wait_for_its_deadline() -> None:
    collectors = Collectors(3)
    for each in collectors.members:
        each.behaviour = unreachable
    with anyio.fail_after(2):
        async with agent_with(collectors, shutdown_timeout=300) as agent:
            record(3)
    assert outcome(agent) == {"dropped shutdown": 3}
