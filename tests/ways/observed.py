"""What a run of a way shows: to its terminal, on the disk, among the processes, and to a collector."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from swagent.testing import RunningCollector
from ways.rows import Row, Table

# Seconds for the processes that a command has started to end after it.
GRACE = 5.0
_MARK = "SWAGENT_WAY"
# What differs is shown up to so many items of a kind.
_MOST = 12


@dataclass
class Observed:
    """One run.

    :ivar files: those that it left, of its working folder, its home and its folder for temporary files
    :ivar processes: the command lines of those that were alive seconds after its end
    :ivar answers: to the requests, each with its status
    :ivar beside: what the command beside it wrote, and its exit code
    :ivar seconds: from its start to its end, or from the signal to its end
    """

    output: str = ""
    error: str = ""
    status: int | None = None
    files: list[str] = field(default_factory=list[str])
    processes: list[str] = field(default_factory=list[str])
    answers: list[str] = field(default_factory=list[str])
    beside: str = ""
    seconds: float = 0.0


def differences(table: Table, row: Row, bare: Observed, agent: Observed) -> list[str]:
    """What the application's user would see: one line for each difference, none where there is none."""
    found = [] if bare.status == agent.status else [_unlike("exit code", bare.status, agent.status)]
    for name in ("files", "processes", "answers"):
        before, after = getattr(bare, name), getattr(agent, name)
        if before != after:
            # whole where the same are in another order
            only = _without(before, after), _without(after, before)
            found.append(_unlike(name, *(each[:_MOST] for each in (only if any(only) else (before, after)))))
    for name in ("output", "error", "beside"):
        found += _lines_that_differ(
            name,
            _lines(table, row, getattr(bare, name), with_agent=False),
            _lines(table, row, getattr(agent, name), with_agent=True),
            row.unordered,
        )
    return found


def missing(row: Row, bare: Observed) -> list[str]:
    """Why the bare run shows nothing, and so the comparison with it: one line for each reason."""
    said = bare.output + bare.error + bare.beside
    return [
        *([f"bare: exit code {bare.status}, expected {row.status}"] if bare.status != row.status else []),
        *([f"bare: {row.says!r} is not in its output"] if row.says not in said else []),
        *([f"bare: {len(bare.answers)} answers, expected {row.times}"] if len(bare.answers) != _requests(row) else []),
        *(f"bare: answered {each!r}" for each in sorted({*bare.answers}) if not each.startswith("200")),
    ]


def _requests(row: Row) -> int:
    return row.times if row.get else 0


def unrecorded(row: Row, arrived: RunningCollector, trace_id: str) -> list[str]:
    """What the collector has not got, or not as expected: one line for each reason.

    :param trace_id: that of the requests, empty where there are none
    """
    found: list[str] = []
    traces: dict[str, list[str]] = {}
    for segment in arrived.segments:
        traces.setdefault(segment.trace_id, []).extend(span.operation for span in segment.spans)
    for operation in row.spans:
        names = [name for each in traces.values() for name in each if name == operation]
        if len(names) != row.times:
            others = sorted({name for each in traces.values() for name in each} - {*row.spans})
            found.append(f"{len(names)} of {row.times} spans {operation!r}; besides: {others[:8]}")
    broken = [each for each in traces.values() if {*each} & {*row.spans} and not {*row.spans} <= {*each}]
    if broken:
        found.append(f"{len(broken)} traces have a part of the spans only: {broken[0][:8]}")
    own = len({*traces} - {trace_id})
    if trace_id and row.spans and not broken and own != row.own:
        found.append(f"{own} traces are not the caller's, expected {row.own}")
    steps = _steps(arrived)
    return found if steps == row.logs else [*found, f"{steps} of {row.logs} log records"]


def is_settled(row: Row, arrived: RunningCollector) -> bool:
    """Whether all expected spans and log records are there."""
    names = [span.operation for span in arrived.spans]
    return all(names.count(each) >= row.times for each in row.spans) and _steps(arrived) >= row.logs


def _steps(arrived: RunningCollector) -> int:
    return sum("step done" in each.content for each in arrived.logs)


def _lines(table: Table, row: Row, text: str, *, with_agent: bool) -> list[str]:
    lines = text.splitlines()
    if with_agent:
        ours = re.compile("|".join(f"(?:{each})" for each in (*table.ours, *row.ours)))
        lines = [each for each in lines if ours.fullmatch(each) is None]
    text = "\n".join(lines)
    for old, new in (*row.volatile, *table.volatile):
        text = re.sub(old, new, text, flags=re.MULTILINE)
    return text.splitlines()


def _lines_that_differ(name: str, bare: list[str], agent: list[str], is_unordered: bool) -> list[str]:
    if is_unordered:
        bare, agent = sorted(bare), sorted(agent)
    if bare == agent:
        return []
    missing, added = _without(bare, agent), _without(agent, bare)
    if not missing and not added:
        return [f"{name}: the same lines in another order"]
    return [*(f"{name}: missing {each!r}" for each in missing), *(f"{name}: added {each!r}" for each in added)][:_MOST]


def _unlike(name: str, bare: object, agent: object) -> str:
    return f"{name}: bare {bare!r}, with the agent {agent!r}"


def _without(lines: Sequence[str], others: Sequence[str]) -> list[str]:
    left = list(others)
    found: list[str] = []
    for each in lines:
        if each in left:
            left.remove(each)
        else:
            found.append(each)
    return found


def marked(token: str) -> dict[str, str]:
    """The variable by which a run's processes are found."""
    return {_MARK: token}


def files_of(folder: Path) -> list[str]:
    """The names below a folder, without Python's own caches of bytecode."""
    names = (str(each.relative_to(folder)) for each in folder.rglob("*"))
    return sorted(each for each in names if "__pycache__" not in each)


def processes_left(token: str, session: int) -> dict[int, str]:
    """The processes of a run that are still alive after a grace: the command line of each."""
    deadline = time.monotonic() + GRACE
    while (found := _alive(token, session)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def kill(processes: Sequence[int]) -> None:
    """End processes at once, those that this run started."""
    for each in processes:
        with suppress(ProcessLookupError):
            os.kill(each, signal.SIGKILL)


def _alive(token: str, session: int) -> dict[int, str]:
    found: dict[int, str] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with suppress(OSError):
            state = (entry / "stat").read_text().rpartition(") ")[2].split()
            if state[0] in "ZX":
                continue
            if int(state[3]) == session or f"{_MARK}={token}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    return found
