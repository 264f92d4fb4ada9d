"""A warning names the line of the application that it would name without the agent, and not one of ours in between."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from swagent.instrument.patches import Patches
from swagent.instrument.rewriting import rewriting_call
from swagent.instrument.wrapping import around_call
from swagent.record.logs.patch import Patch
from swagent.startup import import_hook


class Library:
    def call(self) -> None:
        warnings.warn("old", DeprecationWarning, stacklevel=2)

    async def coroutine(self) -> None:
        warnings.warn("old", DeprecationWarning, stacklevel=2)


def _passing(patch: Patch) -> Callable[..., object]:
    def call(*args: Any) -> object:
        return patch.original(*args)

    return call


def _awaits() -> None:
    async def wait() -> None:
        await Library().coroutine()

    asyncio.run(wait())


@pytest.mark.parametrize("kind", ["span", "awaited span", "rewritten", "patch"])
def test_the_line_is_the_applications(kind: str) -> None:
    patches, patch = Patches(), Patch(Library, "call", _passing)
    if kind == "span":
        patches.wrap(Library, "call", around_call(lambda *_: None))
    elif kind == "awaited span":
        patches.wrap(Library, "coroutine", around_call(lambda *_: None))
    elif kind == "rewritten":
        patches.wrap(Library, "call", rewriting_call(lambda args, kwargs: (args, kwargs)))
    else:
        patch.apply()
    try:
        with pytest.warns(DeprecationWarning, match="old") as found:
            _awaits() if kind == "awaited span" else Library().call()
    finally:
        patches.undo()
        patch.remove()
    assert found[0].filename == __file__


def test_a_module_that_warns_of_its_import_names_the_importer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "warning_module.py").write_text("import warnings; warnings.warn('old', stacklevel=2)")
    monkeypatch.syspath_prepend(tmp_path)
    seen: list[ModuleType] = []
    import_hook.when_imported("warning_module", seen.append)
    with pytest.warns(UserWarning, match="old") as found:
        import warning_module  # type: ignore[import-not-found] # noqa: F401, PLC0415, RUF100
    assert len(seen) == 1
    assert found[0].filename == __file__


@pytest.mark.gate
def test_a_missing_encoding_is_that_of_the_program() -> None:
    program = "import subprocess, sys\nsubprocess.run([sys.executable, '-V'], text=True, stdout=subprocess.DEVNULL)"
    command = [
        sys.executable,
        "-m",
        "swagent",
        "run",
        "--",
        sys.executable,
        "-X",
        "warn_default_encoding",
        "-c",
        program,
    ]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=30, check=True)
    assert "<string>:2: EncodingWarning" in done.stderr
