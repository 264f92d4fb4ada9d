"""The comparison of two traces: which spans are the same, and where the time differs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from javascript.test_trace_logic import span as made

Ask = Callable[..., Any]


def span(name: str, parent: str | None, operation: str, start: int = 0, end: int = 10, **more: Any) -> dict[str, Any]:
    return made(name, parent, start, end, operation=operation, **more)


ROWS = "found.map(({ a, b, depth }) => [a?.id ?? '', b?.id ?? '', depth])"


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        # of equal brothers the first is the first
        (
            [span("a", None, "r"), span("a1", "a", "q"), span("a2", "a", "q")],
            [span("b", None, "r"), span("b1", "b", "q"), span("b2", "b", "q"), span("b3", "b", "q")],
            [["a", "b", 0], ["a1", "b1", 1], ["a2", "b2", 1], ["", "b3", 1]],
        ),
        # a span that only one trace has is in its place there, with all below it
        (
            [span("a", None, "r"), span("a1", "a", "x"), span("a2", "a", "y")],
            [span("b", None, "r"), span("b1", "b", "new"), span("b2", "b1", "x"), span("b3", "b", "y")],
            [["a", "b", 0], ["a1", "", 1], ["", "b1", 1], ["", "b2", 2], ["a2", "b3", 1]],
        ),
        # another order is no difference; another kind or component is
        (
            [span("a", None, "r"), span("a1", "a", "x"), span("a2", "a", "y"), span("a3", "a", "z", kind="exit")],
            [span("b", None, "r"), span("b1", "b", "y"), span("b2", "b", "x"), span("b3", "b", "z", kind="local")],
            [["a", "b", 0], ["a1", "b2", 1], ["a2", "b1", 1], ["a3", "", 1], ["", "b3", 1]],
        ),
        ([span("a", None, "r", component="A")], [span("b", "gone", "r")], [["a", "", 0], ["", "b", 0]]),
        ([], [], []),
    ],
)
def test_two_trees_are_one(ask: Ask, a: list[Any], b: list[Any], expected: list[Any]) -> None:
    assert ask("compare/match", "align", a, b, then=ROWS) == expected


def test_deep_trees_and_changes_of_own_time(ask: Ask) -> None:
    deep = [span(str(number), str(number - 1) if number else None, "x") for number in range(5000)]
    assert len(ask("compare/match", "align", deep, deep, then=ROWS)) == 5000
    a = [span("a", None, "r", 0, 20), span("a1", "a", "q", 5, 10)]
    b = [span("b", None, "r", 0, 90), *(span(f"b{n}", "b", "q", 10 * n, 10 * n + 8) for n in range(1, 5))]
    found = ask("compare/match", "changes", a, b)
    assert [(each["operation"], each["a"], each["b"], each["by"]) for each in found] == [
        ("r", 1, 1, 90 - 32 - 15),
        ("q", 1, 4, 32 - 5),
    ]
