"""Our traffic draws nothing from the application's generator: a program that was seeded draws what it would draw."""

from __future__ import annotations

import random

import pytest

from kit.each import CLIENTS, PEERS

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("transport", CLIENTS)
async def test_a_seeded_program_draws_the_same_numbers(transport: str) -> None:
    random.seed(42)
    expected = random.getstate()
    with PEERS[transport]() as peer:
        async with CLIENTS[transport](peer.address) as client:
            assert await client.verdict(client.RECORD) is None
    assert random.getstate() == expected


async def test_the_librarys_own_users_draw_from_it() -> None:
    from aiokafka import client  # noqa: PLC0415, RUF100

    before = random.getstate()
    client.random.random()
    assert random.getstate() != before
