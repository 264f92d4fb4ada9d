"""Globs of the query language: what they match, and that no glob makes the collector search through all places."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.made_traces import store_of
from collector.served import START, Api
from swagent.collector.store import globs
from swagent.collector.store.tag_search import has_glob, matches_glob
from swagent.collector.store.tag_text import BETWEEN, CUT, EQUALS
from swagent.collector.store.trace_records import Segment, Span, SpanLog

ANY = f"[^{BETWEEN}]*"
# as regular expressions that search through all places
AROUND = {
    "tag": ("", ""),
    "endpoint": ("(?:[A-Z]+:)?", ""),
    "peer": ("", r"(?::\d+)?"),
    "error": (rf"(?:{ANY}\.)?", ""),
}
GLOBS = st.lists(st.text("aG:.0*", max_size=3), min_size=1, max_size=4)
VALUES = st.builds(str.__add__, st.text("aG:.0٣", max_size=8), st.sampled_from(["", CUT]))
LONG = "a" * 240
HOSTILE = "*a" * 9 + "*b"


class Watched(str):
    """Counts the characters in which it is searched."""

    searched = 0

    def find(self, text: str, at: Any = 0, end: Any = None) -> int:
        found = super().find(text, at, end)
        self.searched += (end if found < 0 else found + len(text)) - at
        return found


@given(GLOBS, VALUES)
def test_a_glob_takes_what_a_search_through_all_places_would(texts: list[str], value: str) -> None:
    expected = re.fullmatch(".*".join(map(re.escape, texts)), value) is not None
    assert matches_glob(value, globs.encode(texts)) == expected


@given(st.sampled_from([*AROUND]), GLOBS, st.lists(st.tuples(st.sampled_from(["k", "kk", "l"]), VALUES), max_size=3))
def test_a_glob_is_looked_for_in_the_values_of_its_key(
    kind: str, texts: list[str], pairs: list[tuple[str, str]]
) -> None:
    tags = BETWEEN + "".join(f"{key}{EQUALS}{value}{BETWEEN}" for key, value in pairs)
    before, after = AROUND[kind]
    pattern = f"{BETWEEN}k{EQUALS}{before}{ANY.join(map(re.escape, texts))}{after}{CUT}?{BETWEEN}"
    expected = re.search(pattern, tags) is not None
    assert has_glob(tags, f"{BETWEEN}k{EQUALS}", globs.encode(texts), kind) == expected


@pytest.mark.parametrize("texts", [["", "a", "a", "b", ""], ["a", *"a" * 100, "b", ""], ["", *["aa"] * 50, "a"]])
def test_no_character_is_looked_at_again_for_another_text(texts: list[str]) -> None:
    value = Watched(LONG)
    globs.matches(texts, value)
    assert 0 < value.searched <= len(value)


@pytest.fixture
def api() -> Api:
    """Everything that can be looked for is long, and of one letter."""
    logs = (SpanLog(START, (("event", "error"), ("error.kind", LONG))),)
    tags = tuple((f"key{number}", LONG) for number in range(100))
    spans = (
        Span(1, 0, START, START + 5, "/x", LONG, "Exit", "Http"),
        Span(0, -1, START, START + 9, LONG, "", "Entry", "Http", 0, True, tags, logs),
    )
    return Api(store_of([Segment("trace", "segment", LONG, LONG, spans)]))


@pytest.mark.anyio
@pytest.mark.parametrize(
    "head", ["key7=", "key7!=", "status=", "service:", "instance:", "endpoint:", "peer:", "error:"]
)
async def test_a_hostile_glob_is_answered(api: Api, head: str) -> None:
    # a search through all places would go on for years
    found = await api("traces", q=f"{head}{HOSTILE}")
    assert found["total"] == ("!" in head)
    assert (await api("traces", q=head.replace("!", "") + HOSTILE.replace("b", "a")))["total"] == (head != "status=")


@pytest.mark.anyio
@pytest.mark.parametrize("head", ["key=", "service:"])
async def test_stars_have_a_limit(api: Api, head: str) -> None:
    assert (await api("traces", q="x " + head + "*" * 10))["total"] == (head == "service:")
    error = (await api("traces", 400, q=f"x {head}{'*a' * 11}"))["error"]
    assert error == "q, at character 3: a value takes at most 10 stars; leave some out, or put it in quotes"
    assert (await api("traces", q=f'{head}"{"*a" * 11}"'))["total"] == 0
