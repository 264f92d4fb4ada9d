"""Our traffic draws nothing from the application's generator: a program that was seeded draws what it would draw."""

from __future__ import annotations

import random
import subprocess
import sys
from types import ModuleType

import pytest
from aiokafka import client, conn, partitioner

from kit.each import CLIENTS, PEERS
from swagent_transports._quiet import OwnRandom

pytestmark = pytest.mark.anyio
MODULES: list[ModuleType] = [client, conn, partitioner]


@pytest.mark.parametrize("transport", CLIENTS)
async def test_a_seeded_program_draws_the_same_numbers(transport: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in MODULES:
        # as it is outside of these tests, whose consumers draw from a generator of their own
        monkeypatch.setitem(vars(module), "random", OwnRandom())
    random.seed(42)
    expected = random.getstate()
    with PEERS[transport]() as peer:
        async with CLIENTS[transport](peer.address) as transport_client:
            assert await transport_client.verdict(transport_client.RECORD) is None
    assert random.getstate() == expected


def test_a_client_of_the_applications_own_draws_from_it() -> None:
    random.seed(42)
    before = random.getstate()
    OwnRandom().shuffle([1, 2, 3])
    assert random.getstate() != before


@pytest.mark.gate
def test_a_library_gets_its_generator_with_our_transport() -> None:
    names = ", ".join(module.__name__ for module in MODULES)
    text = f"import {names}, swagent_transports.kafka\nprint(*(type(each.random).__name__ for each in ({names},)))"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout.split() == ["OwnRandom"] * len(MODULES)
