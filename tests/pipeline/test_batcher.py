from __future__ import annotations

import math

import pytest

from swagent.pipeline.batcher import Batcher

BATCHER = Batcher(max_items=10, max_bytes=1000, max_delay=0.5)


def test_nothing_is_never_due() -> None:
    assert BATCHER.due_at(0, 0, 0.0) == math.inf


@pytest.mark.parametrize(("items", "size"), [(10, 10), (11, 10), (1, 1000), (1, 5000)])
def test_a_full_batch_is_due_already(items: int, size: int) -> None:
    assert BATCHER.due_at(items, size, 0.0) <= -1e9


def test_one_item_and_one_byte_below_full_waits_for_its_age() -> None:
    assert BATCHER.due_at(9, 999, 7.0) == 7.5


def test_without_delay_everything_is_due_at_once() -> None:
    assert Batcher(10, 1000, 0.0).due_at(1, 1, 7.0) == 7.0
