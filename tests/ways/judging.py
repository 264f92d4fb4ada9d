"""One row: its bare run, its run with the agent, and the verdict on both."""

from __future__ import annotations

import shutil
import uuid
from dataclasses import asdict, dataclass, field
from importlib.metadata import distributions
from typing import Any

from swagent.testing import collector
from ways.observed import differences, missing, unrecorded
from ways.rows import Row, Table
from ways.running import Place, StuckError, run

TRIES = 2
_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"


@dataclass
class Judged:
    """The verdict on a row.

    :ivar command: what was run
    :ivar recorded: the operations of its spans, and how many requests or jobs have them
    :ivar logs: how many of its log records arrived
    :ivar found: what differs, or is not recorded; empty: the two runs are the same
    :ivar tries: how many times it was run; the last one counts
    :ivar seconds: to the end, bare and with the agent. They are measured on a machine that does other work, too
    :ivar not_run: why it was not run
    """

    name: str
    kind: str
    command: str
    versions: dict[str, str] = field(default_factory=dict[str, str])
    recorded: dict[str, int] = field(default_factory=dict[str, int])
    logs: int = 0
    found: list[str] = field(default_factory=list[str])
    tries: int = 0
    seconds: tuple[float, float] = (0.0, 0.0)
    not_run: str = ""

    def as_json(self) -> dict[str, Any]:
        return {key: value for key, value in asdict(self).items() if value}


def judge(table: Table, row: Row, place: Place) -> Judged:
    """Run a row bare and with the agent. Where they differ it is run again, since programs that wait for each other
    may differ by chance.

    :returns: the verdict, which is none where the row needs something that is not here
    """
    judged = Judged(row.name, row.kind, row.agent or f"swagent run -- {row.run}")
    judged.not_run, judged.versions = _needs(row, place)
    while not judged.not_run and judged.tries < TRIES:
        judged.tries += 1
        try:
            _compare(table, row, place, judged)
        except StuckError as error:
            judged.found = [str(error)]
        if not judged.found or row.differs:
            break
    return judged


def has_programs(row: Row) -> bool:
    """Whether this machine has what a row needs beside packages, some of which need it to be built."""
    return all(shutil.which(each, path=_PATH) for each in row.programs)


def _compare(table: Table, row: Row, place: Place, judged: Judged) -> None:
    trace_id = uuid.uuid4().hex if row.get else ""
    bare = run(row, place, None, trace_id)
    judged.found = missing(row, bare)
    with collector() as arrived:
        agent = run(row, place, arrived, trace_id)
        judged.found += differences(table, row, bare, agent) + unrecorded(row, arrived, trace_id)
    judged.seconds = (round(bare.seconds, 2), round(agent.seconds, 2))
    judged.recorded, judged.logs = dict.fromkeys(row.spans, row.times), row.logs


def _needs(row: Row, place: Place) -> tuple[str, dict[str, str]]:
    """Why a row cannot be run, and the versions of what it needs."""
    installed = {
        each.metadata["Name"].lower().replace("_", "-"): each.version
        for each in distributions(path=[str(each) for each in place.programs.parent.glob("lib/*/site-packages")])
    }
    versions = {each: installed.get(each.lower(), "") for each in row.packages}
    absent = [each for each, version in versions.items() if not version]
    absent += [each for each in row.programs if shutil.which(each, path=_PATH) is None]
    if "{redis}" in f"{row.run} {row.beside} {row.environ}" and not place.redis:
        absent.append("redis-server")
    return f"{', '.join(absent)} is not here" if absent else "", versions
