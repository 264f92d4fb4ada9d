"""Which operations are ignored: by the end of the name, and by Ant-style patterns."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swagent.config import Config
from swagent.record.trace.ignore import ant_pattern, compile_ignored


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("/path", ["/path"], ["/path/", "/pathx", "/x/path", "/Path"]),
        ("/path/*", ["/path/", "/path/a"], ["/path", "/path/a/b", "/x/path/a"]),
        ("/path/**", ["/path/", "/path/a", "/path/a/b", "/path/a/b/"], ["/path", "/pathx/a", "/x/path/a"]),
        ("/path/?", ["/path/a", "/path/é"], ["/path/", "/path/ab", "/path//"]),
        ("/a/*/c", ["/a/b/c", "/a//c"], ["/a/c", "/a/b/b/c", "/a/b/c/"]),
        ("/a/**/c", ["/a/c", "/a/b/c", "/a/b/b/c"], ["/ac", "/a/b/cc", "/xa/c"]),
        ("**/health", ["/health", "/a/b/health", "x/health"], ["/health/", "/healthy"]),
        ("/**", ["/", "/a", "/a/b"], ["a"]),
        ("/a*z", ["/az", "/abz"], ["/ab/z", "/a"]),
        ("/items/*.json", ["/items/a.json", "/items/.json"], ["/items/ajson", "/items/a/b.json"]),
        ("/a.b+(c)[d]", ["/a.b+(c)[d]"], ["/aXb+(c)[d]", "/a.bb(c)d"]),
    ],
)
def test_a_pattern_matches_whole_paths(pattern: str, matching: list[str], others: list[str]) -> None:
    is_ignored = compile_ignored((), (pattern,))
    assert [path for path in matching + others if is_ignored(path)] == matching


@given(st.text())
def test_a_pattern_of_any_text_is_a_regular_expression(pattern: str) -> None:
    re.compile(ant_pattern(pattern))


@given(st.text("abc/.-_"))
def test_a_pattern_without_signs_matches_itself_only(path: str) -> None:
    assert re.fullmatch(ant_pattern(path), path)
    assert not re.fullmatch(ant_pattern(path), path + "x")


@given(st.text("ab/*?", max_size=9), st.text("ab/", max_size=12))
def test_a_wildcard_takes_what_a_search_through_all_places_would(pattern: str, path: str) -> None:
    assert bool(re.fullmatch(ant_pattern(pattern), path)) == _matches(re.split(r"(/\*\*/|\*\*)", pattern), path)


def _matches(pieces: list[str], path: str) -> bool:
    """Try every place that the first wildcard may end at."""
    first, *rest = pieces
    if not rest:
        return re.fullmatch(first.replace("?", "[^/]").replace("*", "[^/]*"), path) is not None
    first += "/" * (rest[0] == "/**/")
    heads = [end for end in range(len(path) + 1) if _matches([first], path[:end])]
    ends = [(head, end) for head in heads for end in range(head, len(path) + 1)]
    if rest[0] == "/**/":
        ends = [(head, end) for head, end in ends if end == head or path[end - 1] == "/"]
    return any(_matches(rest[1:], path[end:]) for _, end in ends)


@pytest.mark.parametrize("pattern", ["/**/a" * 6 + "/**/b", "**a" * 20 + "b", "/" + "*a" * 20 + "b", "**/a*/**/b"])
def test_a_name_takes_no_longer_for_more_wildcards(pattern: str) -> None:
    # a search through all places would go on for years
    is_ignored = compile_ignored((), (pattern,))
    assert not is_ignored("/" + "a" * 400)
    assert not is_ignored("/a" * 200)


@pytest.mark.parametrize(
    ("settings", "ignored", "others"),
    [
        (((), ("/health", "POST:/only/posts")), ["GET:/health", "POST:/only/posts"], ["GET:/only/posts"]),
        (((), ("/health/**",)), ["GET:/health/a\nb"], []),
        (((), ("/a", "/b/*|/c")), ["/a"], ["/c"]),
        (((".jpg", ".JS"), ()), ["GET:/a.jpg", "GET:/a.JPG", "/b.js"], ["/a.jpg/b", "/ajpg"]),
        (((), ()), [], ["", "/", "GET:/a.jpg"]),
        ((Config().ignore_suffix, Config().trace_ignore_path), ["GET:/static/logo.svg"], ["GET:/items"]),
        (((), (), ("HEAD", "OPTIONS")), ["HEAD:/", "OPTIONS:/a", "HEAD"], ["GET:/HEAD", "HEADS:/"]),
    ],
    ids=[
        "a path is asked for without its method", "a line break does not evade", "one pattern of several is enough",
        "a suffix in any case", "nothing to ignore", "static files by default", "methods",
    ],
)  # fmt: skip
def test_what_is_ignored(settings: tuple[tuple[str, ...], ...], ignored: list[str], others: list[str]) -> None:
    is_ignored = compile_ignored(*settings)
    assert [name for name in ignored + others if is_ignored(name)] == ignored


def test_answers_stay_right_beyond_the_number_that_is_remembered() -> None:
    is_ignored = compile_ignored((), ("/no/*",))
    for _ in range(2):
        assert all(is_ignored(f"/no/{number}") and not is_ignored(f"/yes/{number}") for number in range(3000))
