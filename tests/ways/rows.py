"""The rows of `table.toml`: each is a way to start a program, or a command, that is run bare and with the agent."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TABLE = Path(__file__).parent / "table.toml"
KINDS = ("entrances", "servers", "workers", "tools", "launchers")


@dataclass(frozen=True)
class Row:
    """One row. In its commands and variables these are replaced: `{port}`, `{redis}` (a URL), `{bin}` (the folder of
    the environment's programs), `{bootstrap}` (what `swagent run` puts on `PYTHONPATH`), `{folder}` (where it runs).

    :ivar kind: one of `KINDS`
    :ivar run: the bare command
    :ivar agent: the command with the agent; empty: `swagent run --` and the bare one
    :ivar environ: variables of both
    :ivar agent_environ: variables of the command with the agent only
    :ivar quick: whether it belongs to the short part, which needs no package that the tests do not have anyway
    :ivar packages: the distributions that it needs, whose versions are reported
    :ivar environment: that of its packages, which `requirements-NAME.txt` lists; empty: `requirements.txt`
    :ivar programs: the programs that it needs on the path
    :ivar input: its standard input
    :ivar get: a path that is requested of the port, `times` times
    :ivar beside: a command that runs while this one does, once it is ready, with the agent as well
    :ivar ready: a text in its output that says that it is ready
    :ivar done: a text in its output to wait for, before it is asked to end
    :ivar end: the signal that asks it to end; none: it ends by itself
    :ivar to_group: whether that signal goes to all its processes, as from a terminal
    :ivar settled: whether it is asked to end only after its spans and log records have arrived; docs/run.md says why
    :ivar times: how often each of its spans is expected
    :ivar spans: the operations of the spans that are expected, which are in one trace each time
    :ivar own: how many traces are not the caller's, as a program that calls itself has them at its start
    :ivar logs: the log records "step done" that are expected
    :ivar status: the exit code of both
    :ivar says: a text in the bare command's output, without which the row shows nothing
    :ivar ours: regular expressions of lines that only the agent's run has, besides its opening line
    :ivar volatile: regular expressions and their replacements, beside those of the whole table
    :ivar unordered: whether the order of its lines is left to chance
    :ivar differs: why its two runs differ; docs/run.md says it
    """

    name: str
    kind: str
    run: str
    agent: str = ""
    environ: dict[str, str] = field(default_factory=dict[str, str])
    agent_environ: dict[str, str] = field(default_factory=dict[str, str])
    quick: bool = False
    packages: tuple[str, ...] = ()
    environment: str = ""
    programs: tuple[str, ...] = ()
    input: str = ""
    get: str = ""
    beside: str = ""
    ready: str = ""
    done: str = ""
    end: str = ""
    to_group: bool = False
    settled: bool = False
    times: int = 1
    spans: tuple[str, ...] = ()
    own: int = 0
    logs: int = 0
    status: int = 0
    says: str = ""
    ours: tuple[str, ...] = ()
    volatile: tuple[tuple[str, str], ...] = ()
    unordered: bool = False
    differs: str = ""


@dataclass(frozen=True)
class Table:
    """All rows, and what is volatile in the output of any program.

    :ivar volatile: regular expressions and their replacements
    :ivar ours: regular expressions of lines of the agent's
    """

    rows: tuple[Row, ...]
    volatile: tuple[tuple[str, str], ...]
    ours: tuple[str, ...]


def read_table(path: Path = TABLE) -> Table:
    """Read the table.

    :raises ValueError: when a row has a name that another has, or a key that there is not
    """
    said = tomllib.loads(path.read_text())
    every = said.pop("every-row")
    rows = tuple(_row(kind, name, keys) for kind, kept in said.items() for name, keys in kept.items())
    if len({each.name for each in rows}) != len(rows):
        raise ValueError("two rows have one name")
    return Table(rows, tuple((old, new) for old, new in every["volatile"]), tuple(every["ours"]))


def requirements(environment: str) -> Path:
    """The file that lists the packages of an environment, which may be one beside the first one's since some packages
    need older versions of what others need."""
    return TABLE.with_name(f"requirements-{environment}.txt" if environment else "requirements.txt")


def _row(kind: str, name: str, keys: dict[str, Any]) -> Row:
    unknown = keys.keys() - {each.name for each in fields(Row)}
    if kind not in KINDS or unknown:
        raise ValueError(f"{kind}: {name}: {', '.join(sorted(unknown)) or 'no such kind'}")
    values = {key: _frozen(value) for key, value in keys.items()}
    if kind == "servers":
        values = {"times": 50, "end": "SIGTERM", "unordered": True, **values}
    return Row(name, kind, **values)


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
