"""The connection ends anywhere in a batch, by reset or by FIN: whatever the ledger says then is true."""

from __future__ import annotations

from random import Random

import anyio
import pytest

from faults.covering import each_cell
from faults.network.lines import PATIENCE, Line, confirm_again, record
from kit.proxy import Ending
from kit.seeds import session_seed
from swagent import Agent

pytestmark = pytest.mark.anyio

BATCH = 5
CUTS = 20
ENDINGS: list[Ending] = ["reset", "end", "half"]


@each_cell("F07")
@pytest.mark.parametrize("direction", ["up", "down"])
async def test_each_record_of_a_batch_that_is_cut_off_has_one_verdict_and_it_is_true(
    line: Line, direction: str
) -> None:
    seed = session_seed()
    print(f"seed {seed}")
    random = Random(seed)
    async with line.agent(request_timeout=1.0) as agent:
        size = await weigh(line, agent, direction)
        # the first byte and the last, and any between; the next run takes others
        cuts = [0, 1, size - 1, size, size + 1, *(random.randrange(size) for _ in range(CUTS))]
        for number, cut in enumerate(cuts):
            await confirm_again(agent)
            line.proxy.ending = ENDINGS[number % len(ENDINGS)]
            line.proxy.cut(**{direction: cut})
            record(BATCH)
            with anyio.fail_after(5):
                await agent.flush(5)
    counts = line.audit(agent)
    print(counts)
    assert counts["dropped ambiguous"] >= BATCH
    assert set(counts) == {"confirmed", "dropped ambiguous"}
    if direction == "down":
        assert len(line.arrived()) > counts["confirmed"], "the answer alone was cut off, so they are there"


async def weigh(line: Line, agent: Agent, direction: str) -> int:
    """How many bytes a batch needs."""
    toxics = getattr(line.proxy, direction)
    with anyio.fail_after(PATIENCE):
        while True:
            await confirm_again(agent)
            before = toxics.carried
            record(BATCH)
            # a busy machine may miss the deadline, and what is carried then is another connection's beginning, too
            if await agent.flush(PATIENCE):
                return int(toxics.carried - before)
