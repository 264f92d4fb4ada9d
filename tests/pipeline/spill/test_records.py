from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swagent.pipeline.spill.records import (
    HEAD_BYTES,
    MARKS_AT,
    RECORD_BYTES,
    Head,
    Record,
    read_head,
    read_records,
    write_head,
    write_marks,
    write_records,
)

HEAD = Head("segment", "protobuf", 1.75e9, 7, 3)
RECORDS = [Record(b"first", 1.5, 1), Record(b"", 2.5, 2), Record(b"third" * 9, 3.5, 7)]
SOME = st.builds(Record, st.binary(max_size=40), st.floats(allow_nan=False), st.integers(0, 2**64 - 1))


def in_order(records: list[Record]) -> list[Record]:
    return sorted(records, key=lambda record: record.number)


def lists(least: int = 0) -> st.SearchStrategy[list[Record]]:
    """Records with the numbers that a channel gives, each above the last."""
    return st.lists(SOME, min_size=least, unique_by=lambda record: record.number).map(in_order)


def test_a_head_is_read_as_it_was_written_and_its_marks_are_its_end() -> None:
    data = write_head(HEAD)
    assert read_head(data + b"more") == HEAD
    assert len(data) == HEAD_BYTES
    assert read_head(data[:MARKS_AT] + write_marks(9, 8)) == HEAD._replace(leased=9, settled=8)


@pytest.mark.parametrize("size", range(HEAD_BYTES))
def test_a_head_that_is_torn_is_none(size: int) -> None:
    assert read_head(write_head(HEAD)[:size]) is None


def test_another_file_has_no_head() -> None:
    assert read_head(b"\x7fELF" + bytes(100)) is None
    assert read_head(write_head(HEAD._replace(epoch=math.nan))) is None


@given(lists())
def test_records_are_read_as_they_were_written(records: list[Record]) -> None:
    data = write_records(records)
    assert read_records(data) == (records, len(data))


def test_an_end_that_is_torn_at_each_byte_is_cut() -> None:
    data = write_records(RECORDS)
    ends = [0, *(len(write_records(RECORDS[:count])) for count in (1, 2, 3))]
    for size in range(len(data) + 1):
        whole = max(count for count, end in enumerate(ends) if end <= size)
        assert read_records(data[:size]) == (RECORDS[:whole], ends[whole])
        # a file system may give a file its size before its bytes
        assert read_records(data[:size] + bytes(len(data) - size))[0][:whole] == RECORDS[:whole]
    assert read_records(bytes(1000)) == ([], 0)


@given(st.integers(0, 10_000), st.integers(1, 255))
def test_a_changed_byte_ends_the_reading_before_it(place: int, change: int) -> None:
    data = bytearray(write_records(RECORDS))
    place %= len(data)
    data[place] ^= change
    found, end = read_records(bytes(data))
    assert found == RECORDS[: len(found)]
    assert end <= place


def test_what_an_earlier_write_left_behind_a_shorter_one_is_not_read() -> None:
    left = write_records([Record(b"x" * 30, 1.0, number) for number in (5, 6)])
    later = write_records([Record(b"y" * 30, 1.0, 7)])
    data = later + left[len(later) :]
    assert [each.number for each in read_records(data)[0]] == [7]


def test_no_more_is_read_than_is_wanted() -> None:
    data = write_records(RECORDS)
    assert read_records(data, most=2) == (RECORDS[:2], len(write_records(RECORDS[:2])))
    assert read_records(data, most_bytes=5)[0] == RECORDS[:2]
    assert read_records(data, most_bytes=1)[0] == RECORDS[:1]
    assert read_records(data, most=0) == ([], 0)
    assert len(write_records([RECORDS[1]])) == RECORD_BYTES
