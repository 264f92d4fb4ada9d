"""Instructions a request: what callgrind wrote is read, judged, and void where something was not served."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from stress.cost import command
from stress.cost.counter import MissingToolsError, check_tools
from stress.cost.figures import Count, CountError, Counts, own, read_blocks, render
from stress.cost.implementation import ACCELERATOR
from stress.cost.layouts import LAYOUTS, environ_of
from stress.cost.measuring import check_answer
from stress.cost.requests import BLOCK, CASES, warm_up
from stress.cost.stages import BARE, STAGES, WHOLE
from stress.cost.verdict import find_doubts, find_regressions, read_recorded, this_python, write_recorded

# as callgrind writes it, but for the lines of costs between the two halves
WRITTEN = """# callgrind format
version: 1
pid: 31896
cmd:  python -m stress.cost.process bare
part: 2


desc: I1 cache:
desc: Timerange: Basic block 0 - 1437
desc: Trigger: {trigger}

positions: line
events: Ir
summary: 1


fn=(10) _PyEval_EvalFrameDefault
0 512


totals: {totals}
"""
EACH = 1000


def count(each: int, *more: int) -> Count:
    return Count([BLOCK * number for number in (each, *more)])


def counts(added: int, bare: int = EACH) -> Counts:
    return {"trivial": {BARE: count(bare), WHOLE: count(bare + added)}}


def write(folder: Path, *written: tuple[str, int]) -> None:
    for number, (trigger, totals) in enumerate(written):
        (folder / f"callgrind.out.{number}").write_text(WRITTEN.format(trigger=trigger, totals=totals))


def test_blocks_are_read_by_their_case(tmp_path: Path) -> None:
    write(tmp_path, *((f"Client Request: {case} {block}", 10 * block + len(case)) for case in ("await", "trivial")
                      for block in range(2)), ("Program termination", 99))  # fmt: skip
    assert read_blocks(tmp_path) == {"await": [5, 15], "trivial": [7, 17]}


def test_a_file_without_its_end_is_no_count(tmp_path: Path) -> None:
    write(tmp_path, ("Client Request: trivial 0", 1))
    path = tmp_path / "callgrind.out.0"
    path.write_text(path.read_text().partition("totals")[0])
    with pytest.raises(CountError, match=r"callgrind\.out\.0 has no line of totals"):
        read_blocks(tmp_path)


def test_a_full_collection_in_one_block_does_not_count() -> None:
    found = count(1000, 1001, 56_000)
    assert found.each == 1001
    assert found.spread == 55_000


def test_the_agents_own_is_what_it_adds() -> None:
    assert own(counts(250)["trivial"]) == 250


def test_the_parts_are_the_differences_of_the_stages_and_sum_up() -> None:
    stages = {stage: count(EACH + 10 * number**2) for number, stage in enumerate(STAGES)}
    text = render({"trivial": stages})
    assert [line.split("|")[2].strip() for line in text.splitlines()[-5:]] == ["+10", "+30", "+50", "+70", "+160"]
    assert "By part" not in render(counts(1))


@pytest.mark.parametrize(("added", "is_one"), [(110, False), (111, True), (100, False), (1, False)])
def test_more_than_a_tenth_is_a_regression(added: int, *, is_one: bool) -> None:
    found = find_regressions(counts(added), {"trivial": {"bare": EACH, "agent": 100}})
    assert bool(found) is is_one


def test_a_regression_names_both_numbers_and_the_way_out() -> None:
    (text,) = find_regressions(counts(45_678), {"trivial": {"bare": EACH, "agent": 40_000}})
    assert all(each in text for each in ("trivial", "45,678", "40,000", "10%", "python -m stress cost --record"))


@pytest.mark.parametrize(("added", "is_one"), [(99, False), (100, True)])
def test_another_build_of_python_is_judged_by_what_the_bare_application_takes(added: int, *, is_one: bool) -> None:
    found = find_regressions(counts(added, bare=900), {"trivial": {"bare": EACH, "agent": 100}})
    assert bool(found) is is_one
    assert not found or "recorded is 100, which is 90 on this build" in found[0]


def test_a_figure_that_was_never_recorded_is_reported() -> None:
    (text,) = find_regressions(counts(1), {})
    assert f"no recorded number for Python {this_python()}" in text


def test_another_application_and_a_gain_are_doubts() -> None:
    recorded = {"trivial": {"bare": EACH, "agent": 100}}
    assert find_doubts(counts(100), recorded) == find_doubts(counts(5), {}) == []
    assert "1,050 instructions, recorded is 1,000" in find_doubts(counts(100, bare=1050), recorded)[0]
    assert "--record" in find_doubts(counts(89), recorded)[0]


def test_each_python_has_its_record_and_keeps_what_was_not_counted(tmp_path: Path) -> None:
    file = tmp_path / "recorded.json"
    assert read_recorded(file) == {}
    others = {"2.7": {"trivial": {"bare": 1, "agent": 1}}}
    file.write_text(json.dumps({**others, this_python(): {"await": {"bare": 2, "agent": 2}}}))
    write_recorded(counts(100), file)
    assert read_recorded(file) == {"await": {"bare": 2, "agent": 2}, "trivial": {"bare": EACH, "agent": 100}}
    assert json.loads(file.read_text()).items() >= others.items()
    write_recorded(counts(40), file, ACCELERATOR)
    assert read_recorded(file, ACCELERATOR) == {"trivial": {"bare": EACH, "agent": 40}}
    assert read_recorded(file)["trivial"] == {"bare": EACH, "agent": 100}


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
    def check() -> None:
        check_answer(stage, ["trivial", "await"], 3, {"is_accelerated": False, **answer})

    if missing:
        with pytest.raises(CountError, match=missing):
            check()
    else:
        check()


def test_a_batch_is_sent_in_the_middle_of_a_block() -> None:
    requests = CASES["sw8"].requests()
    assert len(set(requests)) == BLOCK
    assert len(warm_up(requests)) == CASES["sw8"].warm_up
    assert CASES["sw8"].warm_up % BLOCK == BLOCK // 2


def test_a_block_of_dear_requests_is_smaller_and_counts_by_its_own_size() -> None:
    small = CASES["queries"].block
    assert len(CASES["queries"].requests()) == small < BLOCK
    assert Count([small * EACH, small * (EACH + 2), small * (EACH + 1)], requests=small).each == EACH + 1
    check_answer(BARE, ["queries"], 3, {"answered": CASES["queries"].warm_up + 3 * small, "is_accelerated": False})


def test_a_traced_caller_is_another_one_each_time() -> None:
    traces = set()
    for request in CASES["sw8"].requests():
        header = request.decode().partition("sw8: ")[2].partition("\r\n")[0].split("-")
        assert len(header) == 8
        traces.add(base64.b64decode(header[1]))
    assert len(traces) == BLOCK


@pytest.mark.parametrize(("is_ci", "status"), [("true", 2), ("", 0)])
def test_without_the_tools_only_ci_fails(
    is_ci: str, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CI", is_ci)
    with pytest.raises(MissingToolsError, match="valgrind and gcc"):
        check_tools()
    assert command.main(["--short"]) == status
    assert "apt-get install valgrind gcc libc6-dev" in capsys.readouterr().err


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


def test_without_a_verdict_one_layout_is_counted_and_a_record_is_the_least_of_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recorded: list[Counts] = []
    layouts = []

    def counted(stages: Sequence[str], cases: Sequence[str], *rest: Any) -> Counts:
        layouts.append(rest[-1])
        return counts(200 - rest[-1], bare=EACH + rest[-1])

    monkeypatch.setattr(command, "refuse_without_tools", lambda _: None)
    monkeypatch.setattr(command, "count_all", counted)
    monkeypatch.setattr(command, "read_recorded", lambda **_: {"trivial": {"bare": EACH, "agent": 100}})
    monkeypatch.setattr(command, "write_recorded", lambda found, **_: recorded.append(found))
    assert command.main(["--cases", "trivial"]) == 0
    assert layouts == [0]
    assert command.main(["--cases", "trivial", "--record"]) == 0
    assert layouts == [0, *range(LAYOUTS)]
    (written,) = recorded
    assert {stage: each.each for stage, each in written["trivial"].items()} == {BARE: EACH, WHOLE: EACH + 200}


def test_each_layout_has_its_own_hashes_and_addresses() -> None:
    environs = [environ_of(layout) for layout in range(LAYOUTS)]
    assert len({each["PYTHONHASHSEED"] for each in environs}) == LAYOUTS
    assert len({len(each) for each in environs}) == LAYOUTS
