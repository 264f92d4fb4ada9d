"""Imports in a source file, led to another package: `import anyio` becomes `import swagent_vendored.anyio as anyio`.

Only these statements change, so that tracebacks name the lines of the original.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterator
from typing import NamedTuple


class _Edit(NamedTuple):
    """Bytes of a file that others take the place of."""

    begin: int
    end: int
    text: bytes


def rewritten(source: str, names: Container[str], package: str) -> str:
    """The source with its imports led to a package.

    :param names: of the modules without a dot that are in there
    :param package: its name
    """
    content = source.encode()
    starts = [0]
    for line in content.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for edit in sorted(_edits(ast.parse(source), content, starts, names, package), reverse=True):
        content = content[: edit.begin] + edit.text + content[edit.end :]
    return content.decode()


def _edits(tree: ast.Module, content: bytes, starts: list[int], names: Container[str], package: str) -> Iterator[_Edit]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and any(_top(each.name) in names for each in node.names):
            begin, end = _place(node, starts)
            aliases = (part for each in node.names for part in _aliases(each, names, package))
            yield _Edit(begin, end, f"import {', '.join(aliases)}".encode())
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module and _top(node.module) in names:
            begin, end = _place(node, starts)
            found = re.match(rb"from\s+([\w.]+)", content[begin:end])
            assert found is not None, ast.unparse(node)
            yield _Edit(begin + found.start(1), begin + found.end(1), f"{package}.{node.module}".encode())


def _aliases(alias: ast.alias, names: Container[str], package: str) -> Iterator[str]:
    """The parts of an import statement that have the effect of one of its parts."""
    if _top(alias.name) not in names:
        yield f"{alias.name} as {alias.asname}" if alias.asname else alias.name
    elif alias.asname:
        yield f"{package}.{alias.name} as {alias.asname}"
    else:
        if "." in alias.name:
            # imported, and then found by the first name, as the statement has it
            yield f"{package}.{alias.name}"
        yield f"{package}.{_top(alias.name)} as {_top(alias.name)}"


def _place(node: ast.stmt, starts: list[int]) -> tuple[int, int]:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset


def _top(name: str) -> str:
    return name.partition(".")[0]
