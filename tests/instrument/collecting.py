"""The spans that the tests see each instrumentation collect, kept beside them in `collected/`, one file a library.

`docs/libraries.md` is made of them, so the page shows observations and not an author's intent. Each test compares the
spans that it sees with the file, and fails where the file does not know them. `lost` compares the spans of all tests
with the files, and fails where a file names more. `make libraries` runs the tests and writes the files.

A test module says whose spans its are by `INSTRUMENTED = ("redis", "valkey")`. Where these are several, a span belongs
to the one that its component is named after, or to the one that the module's function `collected_by(span)` names. For
all else that a module says about that, see `modules`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from instrument.modules import examples
from swagent.instrument import settings
from swagent.record.trace.model import Component, Layer, SpanRecord

FOLDER = Path(__file__).parent / "collected"
_EXAMPLES = 3
# of any span that ended so; not what a library's hook collects
_OF_THE_AGENT = re.compile(r"outcome|task|incomplete|time\..*|loop\..*")
# what keeps the topics and queues of the tests apart that share a broker
OF_ONE_TEST = re.compile(r"-[0-9a-f]{8}\b")


@dataclass
class Spans:
    """The common facts of the spans of one kind."""

    kind: str
    component: str
    layer: str
    operations: list[str] = field(default_factory=list)
    """In a file examples, see `_shown`; else all that were seen."""
    tags: list[str] = field(default_factory=list)
    on_request: list[str] = field(default_factory=list)
    """Tags that only other settings than the defaults bring."""

    @property
    def identity(self) -> tuple[str, str, str]:
        """The facts that tell kinds of spans apart."""
        return self.kind, self.component, self.layer

    def add(self, other: Spans) -> None:
        """Know what the other knows, too."""
        self.operations = sorted({*self.operations, *other.operations}, key=lambda name: (len(name), name))
        self.tags = sorted({*self.tags, *other.tags})
        self.on_request = sorted({*self.on_request, *other.on_request} - {*self.tags})

    def covers(self, other: Spans) -> bool:
        """Whether nothing of the other is new."""
        usual, all_tags = {*self.tags}, {*self.tags, *self.on_request}
        return self.identity == other.identity and usual >= {*other.tags} and all_tags >= {*other.on_request}

    def beyond(self, others: Iterable[Spans]) -> list[str]:
        """The part of this that none of the others has: the whole kind, or some of its tags and operations."""
        for each in others:
            if each.identity == self.identity:
                tags = {*self.tags} - {*each.tags}
                on_request = {*self.on_request} - {*each.on_request}
                return sorted({*tags, *on_request, *self.operations} - {*each.operations})
        return ["the whole kind"]


Collected = dict[str, list[Spans]]
"""By the instrumentations' names."""


def describe(span: SpanRecord) -> Spans | None:
    """A span as the page shows it. None: the application's own, by hand."""
    if not (span.component or span.layer):
        return None
    tags = sorted({key for key, _ in span.tags if not _OF_THE_AGENT.fullmatch(key)})
    usual = settings.current() == settings.Settings()
    component, layer = Component(span.component).name, Layer(span.layer).name
    kind = span.kind.name.capitalize()
    operation = OF_ONE_TEST.sub("", span.name)
    return Spans(kind, component, layer, [operation], tags if usual else [], [] if usual else tags)


def owners(span: SpanRecord, module: ModuleType) -> Iterable[str]:
    """The instrumentations of a test module that a span shows."""
    names: tuple[str, ...] = getattr(module, "COLLECTS", getattr(module, "INSTRUMENTED", ()))
    named: Any = getattr(module, "collected_by", None)
    if named is not None:
        chosen: str | None = named(span)
        assert not chosen or chosen in names, f"{module.__name__} does not name {chosen}: see COLLECTS in modules.py"
        return [chosen] if chosen else []
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
    """The spans that were found and are in no file."""
    known = read()
    for name, kinds in found.items():
        for each in kinds:
            if not any(one.covers(each) for one in known.get(name, ())):
                yield f"{name}: {each}"


def lost(found: Collected, known: Collected) -> Iterator[str]:
    """The spans that the files name of libraries, and their tests did not see."""
    for name, kinds in known.items():
        for each in kinds:
            if missing := each.beyond(found.get(name, ())):
                yield f"{name}: {' '.join(each.identity)}: {', '.join(missing)}"


def read() -> Collected:
    """The content of the files."""
    return {path.stem: [Spans(**each) for each in json.loads(path.read_text())] for path in FOLDER.glob("*.json")}


def write(collected: Collected) -> None:
    """Write a file for each library."""
    FOLDER.mkdir(exist_ok=True)
    for name, kinds in collected.items():
        shown = [replace(each, operations=_shown(each.operations, examples(name))) for each in kinds]
        text = json.dumps([vars(each) for each in shown], indent=1)
        (FOLDER / f"{name}.json").write_text(f"{text}\n")


def dump(collected: Collected) -> str:
    """As text, for another process."""
    return json.dumps({name: [vars(each) for each in kinds] for name, kinds in collected.items()})


def load(text: str) -> Collected:
    """The inverse of `dump`."""
    return {name: [Spans(**each) for each in kinds] for name, kinds in json.loads(text).items()}


def _shown(operations: list[str], preferred: Collection[str]) -> list[str]:
    """Those that the test modules prefer, or else the shortest."""
    return [each for each in operations if each in preferred] or operations[:_EXAMPLES]
