from __future__ import annotations

import gc
from itertools import chain

from swagent.pipeline.record_queue import RecordQueue


def waiting_of(*numbers: int) -> RecordQueue:
    waiting = RecordQueue()
    for number in numbers:
        waiting.put(([b"%d" % number], [number / 10], number, len(b"%d" % number)))
    return waiting


def test_oldest_first_and_each_with_its_time_and_number() -> None:
    waiting = waiting_of(1, 2, 4)
    assert (len(waiting), waiting.oldest_time, waiting.oldest_number) == (3, 0.1, 1)
    assert waiting.take_one() == b"1"
    assert waiting.take(10, 1000) == ([b"2", b"4"], [0.2, 0.4], [range(2, 3), range(4, 5)], 2)
    assert not waiting
    assert waiting.take(10, 1000) == ([], [], [], 0)


def test_each_record_that_comes_back_is_behind_older_ones() -> None:
    """What was between the records of a batch was under way when they were taken, and has come back before them."""
    waiting = waiting_of(1, 2, 3, 4)
    first, second = waiting.take(2, 1000), waiting.take(1, 1000)
    waiting.put_back(*first[:3])
    third = waiting.take(3, 1000)
    assert third[0] == [b"1", b"2", b"4"]
    waiting.put_back(*second[:3])
    waiting.put_back(*third[:3])
    assert [*chain.from_iterable(waiting.take(10, 1000)[2])] == [1, 2, 3, 4]


def test_a_group_is_taken_apart_where_a_batch_ends() -> None:
    waiting = RecordQueue()
    waiting.put(([b"1", b"22", b"3"], [0.1, 0.2, 0.3], 1, 4))
    waiting.put(([b"4"], [0.4], 7, 1))
    assert (len(waiting), bool(waiting)) == (4, True)
    assert waiting.take(1, 1000) == ([b"1"], [0.1], [range(1, 2)], 1)
    assert (len(waiting), waiting.oldest_time, waiting.oldest_number) == (3, 0.2, 2)
    assert waiting.take(3, 3) == ([b"22", b"3"], [0.2, 0.3], [range(2, 4)], 3)
    waiting.put_back([b"22", b"3"], [0.2, 0.3], [range(2, 4)])
    assert waiting.take_one() == b"22"
    assert waiting.take(3, 1000) == ([b"3", b"4"], [0.3, 0.4], [range(3, 4), range(7, 8)], 2)


def test_a_group_that_waits_is_two_objects_to_the_garbage_collector() -> None:
    waiting = RecordQueue()
    waiting.put(([b"%d" % number for number in range(100)], [number / 10 for number in range(100)], 1000, 190))
    parts = [part for part in gc.get_referents(waiting._row) if part is not type(waiting._row)]
    assert len([part for part in parts if gc.is_tracked(part)]) == 2
