"""The answer that is made before the first person asks for it."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from collector.served import line, serving, shop_and_stock
from swagent.collector.api import findings, preparation
from swagent.collector.store.database import StoreError
from swagent.collector.store.store import Store

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio"])]


@pytest.fixture(autouse=True)
def _no_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparation, "INTERVAL", 0.0)


@asynccontextmanager
async def _preparing(store: Store, ask: Callable[[], Awaitable[object]]) -> AsyncIterator[None]:
    async with anyio.create_task_group() as group:
        group.start_soon(preparation.prepare, store, ask)
        yield
        group.cancel_scope.cancel()


async def _add_one(store: Store) -> None:
    """A record more, and time for what follows from it."""
    store.add(line(store.version))
    for _ in range(100):
        await anyio.lowlevel.checkpoint()


@pytest.mark.parametrize(("kept", "expected"), [(0, [3, 6, 12]), (5, [5, 10, 20])], ids=["of none", "of five"])
async def test_it_is_made_at_a_number_of_records_and_whenever_they_have_doubled(
    monkeypatch: pytest.MonkeyPatch, kept: int, expected: list[int]
) -> None:
    monkeypatch.setattr(preparation, "FEWEST", 3)
    store, made_at = Store(), list[int]()
    for number in range(kept):
        store.add(line(number))

    async def ask() -> None:
        made_at.append(store.version)

    async with _preparing(store, ask):
        with anyio.fail_after(50):
            while kept and not made_at:
                await anyio.lowlevel.checkpoint()
        for _ in range(20 - kept):
            await _add_one(store)
    assert made_at == expected


async def test_what_could_not_be_read_is_tried_again_later(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(preparation, "FEWEST", 1)
    store, made_at = Store(), list[int]()

    async def ask() -> None:
        made_at.append(store.version)
        if store.version == 1:
            raise StoreError("the disk is away")

    async with _preparing(store, ask):
        for _ in range(2):
            await _add_one(store)
    assert made_at == [1, 2]
    assert caplog.messages == ["the disk is away"]


async def test_a_collector_has_its_findings_before_anyone_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    made, real = threading.Event(), findings.findings

    def noted(*args: Any) -> Any:
        made.set()
        return real(*args)

    monkeypatch.setattr(preparation, "FEWEST", 2)
    monkeypatch.setattr(findings, "findings", noted)
    async with serving() as (collector, _):
        for segment in shop_and_stock(0):
            collector.store.add(segment)
        assert await anyio.to_thread.run_sync(made.wait, 50)
