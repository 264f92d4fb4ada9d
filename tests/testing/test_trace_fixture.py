"""The fixture `trace`: budgets of queries, loops, waits and failures, in sync and async tests, in processes of pytest's
own and in several of them.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from swagent.agent import running
from swagent.instrument import instrument, uninstrument
from swagent.testing import BudgetError, Trace
from testing.budgeted import ROOT, database, lines_of_each

pytestmark = pytest.mark.timeout(300)
PLANTED = Path(__file__).with_name("planted.py")
REGRESSIONS = 9
LONGEST = 280.0
"""Seconds for a run of pytest on a busy machine."""
TIMES = "\u00d7"


@pytest.fixture(autouse=True)
def instrumented() -> Iterator[None]:
    """As the fixture `trace` has it, and only for these tests."""
    instrument()
    yield
    uninstrument()


def run_pytest(*arguments: str, folder: Path, python: tuple[str, ...] = ("-m", "pytest")) -> str:
    """Run pytest in a process of its own; what it prints."""
    path = os.pathsep.join([str(ROOT), *sys.path])
    command = [sys.executable, *python, "-p", "no:cacheprovider", "--rootdir", str(folder), *arguments]
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "COLUMNS": "300", "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )
    return done.stdout + done.stderr


def write(folder: Path, **files: str) -> None:
    """Write files of Python, with a configuration that belongs to this folder alone."""
    (folder / "pytest.ini").write_text("[pytest]\n", "utf-8")
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text, "utf-8")


@pytest.mark.slow
def test_planted_regressions_are_found_and_nothing_else(tmp_path: Path) -> None:
    write(tmp_path)
    wanted = ("-rA", "-n", "2", "-c", str(tmp_path / "pytest.ini"), "-W", "error", str(PLANTED))
    said = run_pytest(*wanted, folder=tmp_path)
    outcomes = {name: outcome for outcome, name in re.findall(r"^(PASSED|FAILED|ERROR) \S*::(\S+)", said, re.MULTILINE)}
    assert len({name.partition("[")[0] for name in outcomes}) == 2 * (REGRESSIONS + 1), said
    assert {name: "FAILED" if "_found" in name else "PASSED" for name in outcomes} == outcomes, said
    reasons = re.findall(r"^FAILED \S*::(\S+) - (?:\S*BudgetError|Failed): (\S+): ", said, re.MULTILINE)
    assert {name for name, _ in reasons} == {name for name in outcomes if "_found" in name}, said
    assert all(name == judged for name, judged in reasons), said
    assert "shop:80  " in said
    assert "GET:/orders: " in said


def test_a_message_has_the_sentence_and_the_tree(trace: Trace) -> None:
    with trace.watch() as part:
        lines_of_each(database())
    with pytest.raises(BudgetError) as error:
        part.max_queries(2)
    first, many, _, sentence, recorded, *tree = str(error.value).splitlines()
    name = "test_a_message_has_the_sentence_and_the_tree"
    assert (first, recorded) == (f"{name}: 21 queries, at most 2 allowed", "recorded:")
    assert many == f"  20 {TIMES} SELECT item FROM lines WHERE order_id = ?"
    assert re.fullmatch(
        rf"  {name}: .* 20 {TIMES} SELECT item .*, one after the other · .*, 95 % of its 21 calls", sentence
    )
    rows = [re.sub(r"  (<1|[\d.]+) m?s$", "", row) for row in tree]
    assert rows == [
        f"  {name}",
        "    CREATE TABLE lines (order_id INTEGER, item TEXT) → :memory:",
        f"    20 {TIMES} SELECT item FROM lines WHERE order_id = ? → :memory:",
    ]


def test_a_budget_is_judged_at_once_and_once_more_at_the_end_of_its_part(trace: Trace) -> None:
    def exceed() -> None:
        with trace.watch() as part:
            part.max_queries(1)
            lines_of_each(database())

    database()
    with pytest.raises(BudgetError, match="21 queries"):
        exceed()
    trace.max_queries(22)


def test_a_flush_that_gave_up_is_tried_once_more(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = running()
    assert agent is not None
    flush, tries = agent.flush, list[float]()

    async def flush_at_the_second_try(timeout: float) -> bool:
        tries.append(timeout)
        return len(tries) > 1 and await flush(timeout)

    monkeypatch.setattr(agent, "flush", flush_at_the_second_try)
    database()
    trace.max_queries(0)  # as far as it knows
    with pytest.raises(BudgetError, match="1 query"):
        trace.max_queries(0)
    trace.no_failed()
    assert len(tries) == 2
    trace._budgets.clear()  # the first one is exceeded at the end, too


def test_a_budget_that_cannot_be_measured_is_refused(trace: Trace) -> None:
    for budget, value in ((trace.max_blocked_ms, 24), (trace.max_queries, -1), (trace.no_n_plus_one, 2)):
        with pytest.raises(ValueError, match="is less than"):
            budget(value)


def test_the_agent_is_there_in_the_test(trace: Trace) -> None:
    found = running()
    assert found is not None
    assert found.config.service == "app"


def test_the_agent_is_not_there_in_other_tests() -> None:
    assert running() is None


ANY_PLUGIN = """
import asyncio, inspect
import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    if inspect.iscoroutinefunction(pyfuncitem.obj):
        names = pyfuncitem._fixtureinfo.argnames
        asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
        return True
"""
HELD = """
from testing.budgeted import SHORT_MS, hold

async def test_held(trace):
    trace.max_blocked_ms(SHORT_MS)
    hold()
"""


@pytest.mark.slow
def test_whichever_plugin_runs_an_async_test(tmp_path: Path) -> None:
    write(tmp_path, conftest=ANY_PLUGIN, test_async=HELD)
    said = run_pytest("-q", folder=tmp_path)
    assert "test_held: the event loop was held for" in said
    assert "1 failed" in said


LIGHT = """
import sys

def test_nothing_of_it_is_imported():
    assert sorted(name for name in sys.modules if name.split(".")[0].startswith("swagent")) == {wanted}
"""


@pytest.mark.slow
def test_a_project_that_does_not_use_it_does_not_notice_it(tmp_path: Path) -> None:
    write(tmp_path, test_light=LIGHT.format(wanted=["swagent", "swagent.pytest_plugin"]))
    said = run_pytest("-q", "-W", "error", folder=tmp_path)
    assert re.fullmatch(r"\.\s+\[100%\]\n1 passed in [\d.]+s\n", said), said


@pytest.mark.slow
def test_pytest_does_not_warn_of_a_package_that_is_there_already(tmp_path: Path) -> None:
    """As in a process that imports the agent and then runs pytest: one that pytest knows by the files of its wheel."""
    write(tmp_path, test_light="def test_light(): pass\n", run=(
        "import sys, swagent, swagent_transports, swagent_proto, pytest\n"
        "from _pytest.assertion.rewrite import AssertionRewritingHook as Hook\n"
        "first = Hook.__init__\n"
        "def marked(self, config):\n"
        "    first(self, config)\n"
        "    self.mark_rewrite('swagent', 'swagent_transports', 'swagent_proto')\n"
        "Hook.__init__ = marked\n"
        "sys.exit(pytest.main(sys.argv[1:]))\n"
    ))  # fmt: skip
    said = run_pytest("-q", "-W", "error", folder=tmp_path, python=("run.py",))
    assert "1 passed" in said, said
    assert "Warning" not in said
