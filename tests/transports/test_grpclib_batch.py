"""A batch is cut into frames that hold it byte for byte, whatever the peer's windows and frames allow."""

from __future__ import annotations

import random

import pytest
from hyperframe.frame import DataFrame, Frame

from kit.h2_peer import message
from swagent_transports._grpclib_batch import Batch, head_frames

MOST = 16_384


def read_frames(data: bytes) -> list[Frame]:
    found, position = [], 0
    while position < len(data):
        frame, length = Frame.parse_frame_header(memoryview(data)[position : position + 9])
        frame.parse_body(memoryview(data)[position + 9 : position + 9 + length])
        found.append(frame)
        position += 9 + length
    return found


def cut_all(records: list[bytes], rooms: list[int], most: int) -> list[DataFrame]:
    """The frames of a batch whose windows open so far, and then for good."""
    batch, frames = Batch(records), []
    for room in [*rooms, 2**31 - 1]:
        parts: list[bytes | memoryview] = []
        sent = batch.cut(parts, 5, room, most)
        found = read_frames(b"".join(parts))
        assert sent == sum(len(each.data) for each in found if isinstance(each, DataFrame)) <= max(room, 0)
        frames += found
    assert batch.is_out
    assert batch.sent == sum(len(record) + 5 for record in records)
    assert all(isinstance(each, DataFrame) and each.stream_id == 5 for each in frames)
    return [each for each in frames if isinstance(each, DataFrame)]


@pytest.mark.parametrize("largest", [0, 1, 50, 500, 3000, 40_000, 200_000])
def test_every_byte_is_there_in_its_order_and_the_last_frame_ends_the_stream(largest: int) -> None:
    source = random.Random(largest)
    for _ in range(50):
        count = source.choice([0, 1, 2, 7, 90, 512]) if largest <= 3000 else source.randrange(5)
        records = [source.randbytes(source.randint(0, largest)) for _ in range(count)]
        whole = sum(map(len, records)) + 5 * count
        rooms = [source.choice([0, -7, 1, 5, whole // 3, whole - 1, MOST]) for _ in range(source.randrange(6))]
        frames = cut_all(records, rooms, MOST)
        assert b"".join(each.data for each in frames) == b"".join(map(message, records))
        assert [bool("END_STREAM" in each.flags) for each in frames] == [False] * (len(frames) - 1) + [True]
        assert all(len(each.data) <= MOST for each in frames)
        assert count == 0 or all(each.data for each in frames), "an empty frame says nothing"


@pytest.mark.parametrize("sizes", [[400], [300, 900], [0], [2000, 10]])
def test_frames_are_full(sizes: list[int]) -> None:
    """So they are few."""
    records = [bytes(sizes[number * len(sizes) // 512]) for number in range(512)]
    whole = sum(map(len, records)) + 5 * 512
    frames = cut_all(records, [], MOST)
    assert len(frames) <= whole // (MOST - 2 * max(sizes) - 10) + 2


def test_long_headers_go_on_in_other_frames() -> None:
    block = bytes(range(256)) * 200
    head, *rest = read_frames(head_frames(block, 3, MOST))
    assert [type(each).__name__ for each in [head, *rest]] == ["HeadersFrame", *["ContinuationFrame"] * 3]
    assert b"".join(each.data for each in [head, *rest]) == block  # type: ignore[attr-defined]
    assert ["END_HEADERS" in each.flags for each in [head, *rest]] == [False, False, False, True]
