"""What the tests see each instrumentation collect, kept beside them in `collected/`, one file a library.

`docs/libraries.md` is made of it, so the page says what was seen and not what somebody meant. Each test compares what
it sees with the file, and fails where the file does not know it: `make libraries` runs the tests and writes the files.

A test module says whose spans its are by `INSTRUMENTED = ("redis", "valkey")`. Where these are several, a span belongs
to the one that its component is named after, or to the one that the module's function `collected_by(span)` names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from swagent.instrument import settings
from swagent.record.trace.model import Component, Layer, SpanRecord

FOLDER = Path(__file__).parent / "collected"
_EXAMPLES = 3
# of any span that ended so; not what a library's hook collects
_OF_THE_AGENT = re.compile(r"outcome|task|incomplete|time\..*|loop\..*")


@dataclass
class Spans:
    """What the spans of one kind have in common."""

    kind: str
    component: str
    layer: str
    operations: list[str] = field(default_factory=list)
    """Examples, the shortest first."""
    tags: list[str] = field(default_factory=list)
    on_request: list[str] = field(default_factory=list)
    """Tags that only other settings than the defaults bring."""

    @property
    def identity(self) -> tuple[str, str, str]:
        """What tells kinds of spans apart."""
        return self.kind, self.component, self.layer

    def add(self, other: Spans) -> None:
        """Know what the other knows, too."""
        operations = {*self.operations, *other.operations}
        self.operations = sorted(operations, key=lambda name: (len(name), name))[:_EXAMPLES]
        self.tags = sorted({*self.tags, *other.tags})
        self.on_request = sorted({*self.on_request, *other.on_request} - {*self.tags})

    def covers(self, other: Spans) -> bool:
        """Whether nothing of the other is new."""
        known = {*self.tags, *self.on_request}
        return self.identity == other.identity and known >= {*other.tags, *other.on_request}


Collected = dict[str, list[Spans]]
"""By the instrumentations' names."""


def describe(span: SpanRecord) -> Spans | None:
    """A span as the page tells of it. None: the application's own, by hand."""
    if not (span.component or span.layer):
        return None
    tags = sorted({key for key, _ in span.tags if not _OF_THE_AGENT.fullmatch(key)})
    usual = settings.current() == settings.Settings()
    component, layer = Component(span.component).name, Layer(span.layer).name
    kind = span.kind.name.capitalize()
    return Spans(kind, component, layer, [span.name], tags if usual else [], [] if usual else tags)


def owners(span: SpanRecord, module: ModuleType) -> Iterable[str]:
    """The instrumentations of a test module that a span tells of."""
    names: tuple[str, ...] = getattr(module, "INSTRUMENTED", ())
    named: Any = getattr(module, "collected_by", None)
    if named is not None:
        return [name for name in names if name == named(span)]
    component = Component(span.component).name.lower()
    return [component] if component in names else names


def merge(into: Collected, found: Collected) -> None:
    """Add what was found to what is known."""
    for name, kinds in found.items():
        known = {each.identity: each for each in into.setdefault(name, [])}
        for each in kinds:
            if each.identity not in known:
                known[each.identity] = Spans(*each.identity)
                into[name].append(known[each.identity])
            known[each.identity].add(each)
        into[name].sort(key=lambda each: each.identity)


def unknown(found: Collected) -> Iterator[str]:
    """What was found and is in no file."""
    known = read()
    for name, kinds in found.items():
        for each in kinds:
            if not any(one.covers(each) for one in known.get(name, ())):
                yield f"{name}: {each}"


def read() -> Collected:
    """What the files say."""
    return {path.stem: [Spans(**each) for each in json.loads(path.read_text())] for path in FOLDER.glob("*.json")}


def write(collected: Collected) -> None:
    """Write a file for each library."""
    FOLDER.mkdir(exist_ok=True)
    for name, kinds in collected.items():
        text = json.dumps([vars(each) for each in kinds], indent=1)
        (FOLDER / f"{name}.json").write_text(f"{text}\n")
