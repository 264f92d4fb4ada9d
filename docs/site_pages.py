"""The pages that the site adds to those of this folder: files of the top level, and one page a public module.

mkdocs calls `on_files`, since mkdocs.yml names this module as a hook.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
TOP_LEVEL = {"index.md": "README.md", "contributing.md": "CONTRIBUTING.md", "changelog.md": "CHANGELOG.md"}
PUBLIC = (
    "swagent",
    "swagent.asgi",
    "swagent.wsgi",
    "swagent.messages",
    "swagent.meters",
    "swagent.logs",
    "swagent.config",
    "swagent.errors",
    "swagent.ledger",
    "swagent.signals",
    "swagent.abc",
    "swagent.testing",
)
_LINK = re.compile(r"\[([^]]*)]\(([^)\s]+)\)")
_ELSEWHERE = re.compile(r"\w+:|#")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that have no file in this folder."""
    for name, source in TOP_LEVEL.items():
        text = (ROOT / source).read_text("utf-8")
        files.append(File.generated(config, name, content=_LINK.sub(_as_seen_from_here, text)))
    for module in PUBLIC:
        name = f"api/{module.rpartition('.')[2]}.md"
        files.append(File.generated(config, name, content=_reference(module)))
    return files


def _reference(module: str) -> str:
    """The page of a module. What it passes on from others is named, or the page would leave it out."""
    path = ROOT / module.replace(".", "/")
    tree = ast.parse((path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text("utf-8"))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    passed_on = [each.name for node in imports for each in node.names if each.asname == each.name]
    is_door = not any(isinstance(node, (ast.ClassDef, ast.FunctionDef)) for node in tree.body)
    options = f"    options:\n      members: [{', '.join(passed_on)}]\n" if passed_on and is_door else ""
    return f"# {module}\n\n::: {module}\n{options}"


def _as_seen_from_here(link: re.Match[str]) -> str:
    """A link of a file of the top level, for a page of the site. What the site does not have becomes a mere name."""
    text, target = link.groups()
    pages = {source: name for name, source in TOP_LEVEL.items()}
    if _ELSEWHERE.match(target):
        return link[0]
    if target in pages:
        return f"[{text}]({pages[target]})"
    return f"[{text}]({target[len('docs/') :]})" if target.startswith("docs/") else f"`{text.strip('`')}`"
