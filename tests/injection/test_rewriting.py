"""Imports that lead to another package."""

from __future__ import annotations

import ast

import pytest

from injection.rewriting import rewritten

NAMES = {"anyio", "h2"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("import anyio", "import v.anyio as anyio"),
        ("import anyio as a", "import v.anyio as a"),
        ("import anyio.abc", "import v.anyio.abc, v.anyio as anyio"),
        ("import anyio.abc as a", "import v.anyio.abc as a"),
        ("import os, anyio, h2.errors as e", "import os, v.anyio as anyio, v.h2.errors as e"),
        ("from anyio import sleep", "from v.anyio import sleep"),
        ("from anyio.abc import TaskGroup as T", "from v.anyio.abc import TaskGroup as T"),
        ("from h2 import (\n    errors,\n    events,\n)", "from v.h2 import (\n    errors,\n    events,\n)"),
        ("def é():\n    'ü'; import h2; return h2", "def é():\n    'ü'; import v.h2 as h2; return h2"),
        ("try:\n    import h2\nexcept ImportError: pass", "try:\n    import v.h2 as h2\nexcept ImportError: pass"),
    ],
)
def test_an_import_of_a_name_leads_to_the_package(before: str, after: str) -> None:
    assert rewritten(before, NAMES, "v") == after
    ast.parse(after)


@pytest.mark.parametrize(
    "source",
    [
        "import os",
        "import anyiothing",
        "from . import anyio",
        "from .anyio import sleep",
        "from ..h2 import errors",
        "'import anyio'",
        "# import anyio",
    ],
)
def test_all_else_stays(source: str) -> None:
    assert rewritten(source, NAMES, "v") == source
