"""Write the generated parts of the pages in docs/libraries/, one page a kind of libraries.

python tests/instrument/library_pages.py            write them
python tests/instrument/library_pages.py --check    fail where a page has other text, or a library has no section

The prose and the examples are written by hand. `test_library_pages` runs the examples, and `make libraries` writes the
trees of spans below them. The text between `<!-- generated: httpx -->` and `<!-- end -->` is made of the
instrumentation, the option table, `collected/`, and the table of listeners in docs/recording.md.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path

if __name__ == "__main__":  # a script finds its own folder on the path, and imports need the tests folder
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from instrument import libraries, modules
from instrument.collecting import Spans, read
from swagent.config import options
from swagent.instrument import Instrumentation
from swagent.instrument.installation import GROUP
from swagent.instrument.instrumentation import STANDARD_LIBRARY

DOCS = Path(__file__).parents[2] / "docs"
FOLDER = DOCS / "libraries"
HOOKS = "../recording.md#tags-of-yours-on-calls-that-are-recorded-by-themselves"
_SQL = ("plugin_sql_statements", "plugin_sql_parameters_max_length")
SETTINGS = {
    "cache": ("plugin_cache_keys",),
    "celery": ("plugin_celery_parameters_length",),
    "graphql": (),
    "http": ("plugin_http_ignore_method",),
    "neo4j": _SQL,
    "pymongo": ("plugin_pymongo_trace_parameters", "plugin_pymongo_parameters_max_length"),
    "rpc": ("plugin_grpc_ignored_methods",),
    "search": ("plugin_elasticsearch_trace_dsl",),
    "sql": _SQL,
}
"""The names of options, by a kind of libraries or by a library."""
_SECTION = re.compile(r"(<!-- generated: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
_CODE = r"-->.*?<!-- end -->\n\n```python\n(.*?)```\n"
_TREE = r"(?:\n```text\n(.*?)```\n)?"
_EXAMPLE = re.compile(rf"<!-- generated: ([\w-]+) {_CODE}{_TREE}", re.DOTALL)


def main() -> int:
    """Do as the arguments ask; returns the exit status."""
    is_check = sys.argv[1:] == ["--check"]
    wrong = []
    for path in sorted(FOLDER.glob("*.md")):
        text = path.read_text("utf-8")
        page = fill(text)
        if page != text and is_check:
            wrong.append(f"{path.name} is not what `make generate` writes")
        elif page != text:
            path.write_text(page, "utf-8")
    wrong += missing()
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 1 if wrong else 0


def fill(page: str) -> str:
    """A page with its generated parts as they are now."""
    natives = {each.name: each for each in libraries.calls()}
    names = [each.name for each in libraries.instrumentations()]
    kinds = kinds_of_libraries()
    return _SECTION.sub(
        lambda found: found[1] + "\n".join(_section(natives[found[2]], kinds[found[2]], names)) + found[3], page
    )


def missing() -> Iterator[str]:
    """The libraries that have no section with an example, or have it on another page than that of their kind."""
    for name, kind in kinds_of_libraries().items():
        path = FOLDER / f"{kind}.md"
        if not path.exists() or name not in {found for found, _, _ in examples(path)}:
            yield f"{path.name} has no section with an example for {name}"


def examples(page: Path) -> list[tuple[str, str, str]]:
    """The examples of a page: the library, the code, and the tree of spans, which is empty where there is none."""
    return _EXAMPLE.findall(page.read_text("utf-8"))


def with_tree(page: str, library: str, tree: str) -> str:
    """A page with this tree of spans below a library's example."""
    section = re.compile(rf"(<!-- generated: {library} {_CODE}){_TREE}", re.DOTALL)
    return section.sub(lambda found: f"{found[1]}\n```text\n{tree}\n```\n", page)


def kinds_of_libraries() -> dict[str, str]:
    """The kind of each library that records calls: the name of its module's package."""
    names = {each.name for each in libraries.calls()}
    found = {}
    for point in entry_points(group=GROUP):
        loaded: Instrumentation | tuple[Instrumentation, ...] = point.load()
        for each in (loaded,) if isinstance(loaded, Instrumentation) else loaded:
            if each.name in names:
                found[each.name] = point.value.partition(":")[0].split(".")[-2]
    return found


def _section(each: Instrumentation, kind: str, names: list[str]) -> Iterator[str]:
    versions = "the module of Python's own" if each.package == STANDARD_LIBRARY else f"versions `{each.versions}`"
    yield f"Recorded: {versions}. The tests run against {'; '.join(modules.against(each.name))}."
    yield ""
    yield "| kind | operations, for example | component | layer | tags | tags on request |"
    yield "| --- | --- | --- | --- | --- | --- |"
    yield from (_row(spans) for spans in read().get(each.name, []))
    yield ""
    yield from _settings(each, kind, names)
    if each.shows_calls:
        request, response = _shown(each.name)
        yield f"- [Functions of yours]({HOOKS}): `on_request` gets {request}; `on_response` gets {response}."
    yield ""


def _row(spans: Spans) -> str:
    operations = ", ".join(f"`{each}`" for each in spans.operations)
    tags = (", ".join(f"`{each}`" for each in found) for found in (spans.tags, spans.on_request))
    return f"| {' | '.join((spans.kind, operations, spans.component, spans.layer, *tags))} |"


def _settings(each: Instrumentation, kind: str, names: list[str]) -> Iterator[str]:
    known = dict(options())
    for name in SETTINGS.get(each.name, SETTINGS.get(kind, ())):
        option = known[name]
        yield f"- `{option.env}`: {option.help}"
    # the setting is an expression that matches from the beginning
    is_beginning = any(other != each.name and other.startswith(each.name) for other in names)
    yield f"- `SW_AGENT_DISABLE_PLUGINS={each.name}{'$' if is_beginning else ''}` switches it off."


def _shown(name: str) -> list[str]:
    """The objects that the listeners of a library get, as the page about them says."""
    for line in (DOCS / "recording.md").read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("|") and f"`{name}`" in cells[0]:
            return cells[1:]
    raise LookupError(f"docs/recording.md does not say what {name} shows")


if __name__ == "__main__":
    sys.exit(main())
