"""A tier is a selection of the tests; one measured run of it shows which tests could notice a mutant."""

from __future__ import annotations

import ast
import json
import re
import shutil
from collections.abc import Iterable
from functools import lru_cache
from itertools import accumulate
from pathlib import Path

from coverage import Coverage, CoverageData

from mutants.copies import Copy
from mutants.draw import Mutant
from suites import suites_of

_SETTINGS = """[run]
parallel = true
data_file = {data}
context = ${{PYTEST_CURRENT_TEST-}}
include =
    {root}/swagent/*
    {root}/transports/*
patch = fork, _exit
"""
_PHASE = re.compile(r" \((setup|call|teardown)\)$")
_QUICK = (0.1, 1.0, 10.0)  # the quick tests of all files come before the slower ones
Tests = list[str]


class Tier:
    """Pytest's arguments, and how long each test takes if it has been measured."""

    def __init__(self, name: str, arguments: list[str]) -> None:
        self.name, self.arguments = name, arguments
        self.seconds: dict[str, float] = {}

    def measure(self, copy: Copy, folder: Path) -> None:
        """Run it with coverage.py, each test as a context. What was seen stays in the folder, for the next time."""
        self._root, self._data = copy.root, (data := folder / f"{self.name}.coverage")
        kept = data.with_suffix(".tests")
        if not kept.exists():
            kept.write_text(json.dumps(self._measured(copy, data)), encoding="utf-8")
        self.seconds = json.loads(kept.read_text(encoding="utf-8"))

    def _measured(self, copy: Copy, data: Path) -> dict[str, float]:
        settings, parts = data.with_suffix(".settings"), data.with_suffix(".parts")
        data.unlink(missing_ok=True)  # a run that was interrupted may have left both
        shutil.rmtree(parts, ignore_errors=True)
        parts.mkdir()
        settings.write_text(_SETTINGS.format(data=parts / data.name, root=copy.root), encoding="utf-8")
        parallel = [*self.arguments, "-n", "2", "--dist", "worksteal"]
        run = copy.run(parallel, environ={"COVERAGE_PROCESS_START": str(settings)})
        whole = Coverage(data_file=str(data), config_file=False)
        whole.combine([str(parts)])
        whole.save()
        # some fail because they are measured; those that fail otherwise, too, can show nothing
        broken = {*copy.run(parallel, run.failed).failed} if run.failed else set()
        print(f"{len(run.seconds)} tests were measured; left out, since they fail without a mutant: {sorted(broken)}")
        return {test: seconds for test, seconds in run.seconds.items() if test not in broken}

    def tests(self, mutant: Mutant, limit: float) -> tuple[Tests, Tests]:
        """Return the tests that run its statement, and for one that runs at import its suites: the likely ones first.

        :param limit: the seconds after which the others are the second list
        """
        statement = _statement(self._root / mutant.path, mutant.line)
        by_line = _contexts(self._data, self._root / mutant.path)
        touching = self.seconds.keys() & {test for tests in by_line.values() for test in tests}
        found = {test for line in statement or () for test in by_line.get(line, ())}
        suites = [f"tests/{each}" for each in suites_of(mutant.path)]
        if statement is None or found == {""}:
            found = touching | {each for each in self.seconds if _rank(each, suites) < len(suites)}

        def order(test: str) -> tuple[bool, int, int, str, float]:
            quickness = sum(self.seconds[test] > each for each in _QUICK)
            return test not in touching, quickness, _rank(test, suites), test.partition("::")[0], self.seconds[test]

        tests = sorted(found & self.seconds.keys(), key=order)
        count = sum(sofar <= limit for sofar in accumulate(self.seconds[each] for each in tests))
        return tests[:count], tests[count:]

    def patience(self, tests: Iterable[str]) -> float | None:
        """Return the seconds after which a run of these tests hangs; None: nobody knows."""
        return 120 + 10 * sum(self.seconds.get(each, 0) for each in tests) if self.seconds else None


@lru_cache(None)
def _contexts(data: Path, source: Path) -> dict[int, set[str]]:
    read = CoverageData(str(data))
    read.read()
    by_line = read.contexts_by_lineno(str(source))
    return {line: {_PHASE.sub("", each) for each in contexts} for line, contexts in by_line.items()}


def _rank(test: str, suites: list[str]) -> int:
    return next((at for at, suite in enumerate(suites) if test.startswith((f"{suite}/", f"{suite}::"))), len(suites))


def _statement(path: Path, line: int) -> range | None:
    """Return the lines of the innermost statement around a line; None for one that runs when the module is imported."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    statements = [each for each in nodes if isinstance(each, ast.stmt | ast.ExceptHandler)]
    around = [each for each in statements if _begin(each) <= line <= (each.end_lineno or 0)]
    functions = [each for each in around if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
    inner, body = around[-1], getattr(around[-1], "body", None)
    # a default or a decorator matters where the function runs
    last = max(line, body[0].lineno - 1) if body and inner not in functions else inner.end_lineno or line
    return range(_begin(inner), last + 1) if functions else None


def _begin(node: ast.stmt | ast.ExceptHandler) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min(each.lineno for each in (node, *decorators))
