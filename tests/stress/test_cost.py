"""Instructions a request: what callgrind wrote is read, judged, and void where something was not served."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from stress.cost import command
from stress.cost.figures import Count, CountError, Counts, read_blocks
from stress.cost.layouts import LAYOUTS
from stress.cost.measuring import check_answer
from stress.cost.requests import BLOCK, CASES
from stress.cost.stages import BARE, WHOLE
from stress.cost.verdict import find_regressions, read_recorded, write_recorded

EACH = 1000


def count(each: int, *more: int) -> Count:
    return Count([BLOCK * number for number in (each, *more)])


def counts(added: int, bare: int = EACH) -> Counts:
    return {"trivial": {BARE: count(bare), WHOLE: count(bare + added)}}


def test_blocks_are_read_by_their_case(tmp_path: Path) -> None:
    for number, (trigger, totals) in enumerate(
        [("Client Request: await 0", 5), ("Client Request: await 1", 15), ("Program termination", 99)]
    ):
        (tmp_path / f"callgrind.out.{number}").write_text(f"desc: Trigger: {trigger}\n\n0 512\n\ntotals: {totals}\n")
    assert read_blocks(tmp_path) == {"await": [5, 15]}
    (tmp_path / "callgrind.out.0").write_text("desc: Trigger: Client Request: await 0\n")
    with pytest.raises(CountError, match=r"callgrind\.out\.0 has no line of totals"):
        read_blocks(tmp_path)


# on another build of Python the bare application takes a tenth less, and so does what is recorded
@pytest.mark.parametrize(
    ("added", "bare", "is_one"),
    [(110, EACH, False), (111, EACH, True), (1, EACH, False), (99, 900, False), (100, 900, True)],
)
def test_more_than_a_tenth_is_a_regression(added: int, bare: int, *, is_one: bool) -> None:
    found = find_regressions(counts(added, bare), {"trivial": {"bare": EACH, "agent": 100}})
    assert bool(found) is is_one
    assert bare == EACH or not found or "recorded is 100, which is 90 on this build" in found[0]


SERVED = 2 * (CASES["trivial"].warm_up + 3 * BLOCK)


@pytest.mark.parametrize(
    ("stage", "answer", "missing"),
    [
        (BARE, {"answered": SERVED}, ""),
        (BARE, {"answered": SERVED - 1}, "answered"),
        ("recorded", {"answered": SERVED, "segment": 0}, ""),
        (WHOLE, {"answered": SERVED, "segment": SERVED, "log": SERVED // 2}, ""),
        (WHOLE, {"answered": SERVED, "segment": SERVED - 1, "log": SERVED // 2}, "segment"),
        (WHOLE, {"answered": SERVED, "segment": SERVED}, "log is None"),
        (BARE, {"answered": SERVED, "is_accelerated": True}, "is_accelerated is True and should be False"),
    ],
)
def test_a_count_without_its_work_is_void(stage: str, answer: Mapping[str, Any], missing: str) -> None:
    with pytest.raises(CountError, match=missing) if missing else nullcontext():
        check_answer(stage, ["trivial", "await"], 3, {"is_accelerated": False, **answer})


# what the agent adds with one layout of memory after the other, and with which of them the count ends
@pytest.mark.parametrize(
    ("added", "last", "status"),
    [
        ([100], 0, 0),
        ([111, 110], 1, 0),
        ([130, 120, 111, 105], 3, 0),
        ([130, 120, 111, 111, 125, 140], LAYOUTS - 1, 1),
    ],
)
def test_the_short_form_judges_by_the_layout_that_takes_least(
    added: Sequence[int],
    last: int,
    status: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "recorded.json"
    others = {case: counts(50)["trivial"] for case in ("await", "query", "call")}
    write_recorded({**counts(100), **others}, file)
    found = []

    def counted(stages: Sequence[str], cases: Sequence[str], *rest: Any) -> Counts:
        assert stages == (BARE, WHOLE)
        layout = rest[-1]
        found.append((tuple(cases), layout))
        return {case: counts(added[layout] if case == "trivial" else 50)["trivial"] for case in cases}

    monkeypatch.setattr(command, "refuse_without_tools", lambda _: None)
    monkeypatch.setattr(command, "count_all", counted)
    monkeypatch.setattr(command, "read_recorded", lambda **_: read_recorded(file))
    assert command.main(["--short"]) == status
    assert found == [
        (("trivial", "await", "query", "call"), 0),
        *((("trivial",), layout) for layout in range(1, last + 1)),
    ]
    said = capsys.readouterr()
    assert ("regression" in said.err) is (status == 1)
    assert f"+{min(added)} " in said.out
