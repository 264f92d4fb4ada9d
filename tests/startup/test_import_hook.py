"""The hook that sees imports, while another thread imports."""

from __future__ import annotations

import sys
import threading
from importlib.machinery import ModuleSpec
from typing import Any

import pytest

from swagent.startup import import_hook


class _Waiting:
    """Lets a test act while the finders are gone through."""

    def __init__(self) -> None:
        self.reached, self.go_on = threading.Event(), threading.Event()

    def find_spec(self, name: str, *_: object) -> None:
        if name == "swagent_tested_slow":
            self.reached.set()
            assert self.go_on.wait(20)


class _Generating:
    """The application's finder, behind that one."""

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name == "swagent_tested_slow" else None  # type: ignore[arg-type]

    def create_module(self, _: ModuleSpec) -> None:
        """The usual one."""

    def exec_module(self, module: Any) -> None:
        module.is_found = True


def _see_nothing(_: str) -> None:
    """The hook is in place for it."""


def test_an_import_that_is_under_way_misses_no_finder_when_the_hook_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    import_hook.watch_names(_see_nothing)
    waiting, found = _Waiting(), list[Any]()
    assert import_hook._FINDER in sys.meta_path
    others = [each for each in sys.meta_path if each is not import_hook._FINDER]
    monkeypatch.setattr(sys, "meta_path", [import_hook._FINDER, waiting, _Generating(), *others])
    thread = threading.Thread(target=lambda: found.append(__import__("swagent_tested_slow")))
    thread.start()
    assert waiting.reached.wait(20)
    import_hook.pause()
    waiting.go_on.set()
    thread.join(20)
    import_hook.resume()
    assert [each.is_found for each in found] == [True]
    import_hook.stop_watching(_see_nothing)
    del sys.modules["swagent_tested_slow"]
