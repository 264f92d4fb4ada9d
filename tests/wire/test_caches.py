"""The caches of the encoders stay bounded, keep what repeats, and bear any number of threads."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from types import FrameType, ModuleType
from typing import Any

import pytest

from swagent_proto import cache, wire, wire_json
from swagent_proto.cache import MAX_ENTRIES, BoundedCache

CODECS = pytest.mark.parametrize("codec", [wire, wire_json], ids=lambda codec: str(codec.__name__))
TAGS = [("http.method", "GET"), ("http.url", "http://shop/api"), ("http.status_code", "200")]


def caches(codec: ModuleType) -> list[BoundedCache[Any, Any]]:
    found = [value for value in vars(codec).values() if isinstance(value, BoundedCache)]
    assert len(found) > 20
    return found


def segment(codec: Any, number: int, name: str = "/orders", url: str = "http://shop") -> Any:
    start = 1_700_000_000_000 + number
    tags = [*TAGS, ("http.url", url)]
    span = codec.span_object(number, -1, start, start + 5, [], name, "", 0, 3, 7014, False, tags, [], False)
    return codec.segment_object(f"trace-{number}", f"segment-{number}", [span], "shop", "one", False)


@pytest.mark.gate
@CODECS
def test_bounded_over_many_distinct_values(codec: ModuleType) -> None:
    fullest = 0
    for number in range(200_000):
        segment(codec, number, f"/orders/{number}", f"http://shop/{number}")
        if number % 500 == 0:
            fullest = max(fullest, *(len(one) for one in caches(codec)))
    assert MAX_ENTRIES / 2 < fullest <= MAX_ENTRIES


@CODECS
def test_unique_ids_stay_out(codec: ModuleType) -> None:
    for number in range(2 * MAX_ENTRIES):
        segment(codec, number)
    keys = [key for one in caches(codec) for key in one if isinstance(key, str)]
    assert "shop" in keys
    assert not [key for key in keys if key.startswith(("trace-", "segment-"))]


@CODECS
def test_long_texts_stay_out(codec: ModuleType) -> None:
    long = "x" * 100_000
    segment(codec, 1, long, long)
    keys = [key for one in caches(codec) for key in one]
    assert not [key for key in keys if key == long or (isinstance(key, tuple) and long in key)]


@CODECS
def test_a_repeated_text_is_encoded_once(codec: ModuleType) -> None:
    """The second time no cache enters Python code: that is what makes an encoder fast."""
    missed: list[str] = []

    def watch(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename == cache.__file__:
            missed.append(frame.f_code.co_name)

    # one that is full is emptied by its next value, and then misses what it knew
    for one in caches(codec):
        one.clear()
    segment(codec, 7)
    sys.setprofile(watch)
    try:
        segment(codec, 7)
    finally:
        sys.setprofile(None)
    assert missed == []


@pytest.mark.gate
@CODECS
def test_threads_share_the_caches(codec: ModuleType) -> None:
    numbers = range(0, 40_000, 7)
    expected = [segment(codec, number, f"/{number}", f"u{number}") for number in numbers]
    with ThreadPoolExecutor(4) as pool:
        results = [
            pool.submit(lambda: [segment(codec, number, f"/{number}", f"u{number}") for number in numbers])
            for _ in range(4)
        ]
        assert all(result.result() == expected for result in results)
    assert max(len(one) for one in caches(codec)) <= MAX_ENTRIES + 4
