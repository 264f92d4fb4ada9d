"""Ids repeat nowhere: not across threads, not in a forked child, not in a spawned process."""

from __future__ import annotations

import re
import threading
from concurrent.futures import ThreadPoolExecutor

from kit.forks import FORKS, said_by_a_child
from swagent.record.trace.ids import ids_of, new_id, new_number

_MANY = 2000


def test_threads_that_draw_at_the_same_time_draw_different_ids() -> None:
    start = threading.Barrier(4)

    def draw(_: int) -> list[str]:
        start.wait()
        return [new_id() for _ in range(_MANY)]

    with ThreadPoolExecutor(4) as pool:
        ids = [each for drawn in pool.map(draw, range(4)) for each in drawn]
    assert len(set(ids)) == len(ids) == 4 * _MANY


@FORKS[0]
@FORKS[1]
def test_a_forked_child_repeats_neither_its_parent_nor_its_sibling() -> None:
    before = new_id()
    first, second = (said_by_a_child(lambda: f"{new_id()} {new_id()}").split() for _ in range(2))
    after = [new_id() for _ in range(3)]
    assert len({before, *first, *second, *after}) == 8


def test_ids_drawn_in_pairs_are_new_ids_too() -> None:
    drawn = [each for _ in range(1000) for each in (*ids_of(new_number()), new_id())]
    assert all(re.fullmatch("[0-9a-f]{32}", each) for each in drawn)
    assert len(set(drawn)) == len(drawn)
