"""A hook that does not fit changes nothing, and says so once."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest
import requests  # noqa: F401, RUF100  (what is not imported is not wrapped)
from urllib3.response import HTTPResponse

from swagent.errors import ConfigError
from swagent.instrument import Instrumentation, Patches, State, instrument, uninstrument
from swagent.instrument.installation import Installation
from swagent.instrument.patches import HookError


class Base:
    def inherited(self) -> str:
        return "base"


class Library(Base):
    """Replaces a class of a library."""

    def call(self, text: str) -> str:
        return text

    @classmethod
    def of_class(cls) -> str:
        return cls.__name__

    @staticmethod
    def of_no_library() -> str:
        return "static"

    value = 1


@pytest.fixture
def library() -> Iterator[ModuleType]:
    module = ModuleType("swagent_tested_library")
    module.Library = Library  # type: ignore[attr-defined]
    sys.modules[module.__name__] = module
    yield module
    del sys.modules[module.__name__]


def _louder(function: Callable[..., str]) -> Callable[..., str]:
    return lambda *args: function(*args).upper() + "!"


def _hook(module: Any, patches: Patches) -> None:
    for name in ("call", "of_class", "of_no_library", "inherited"):
        patches.wrap(module.Library, name, _louder)


def _state(installation: Installation) -> State:
    return installation.state


def _said() -> list[str]:
    library = Library()
    return [library.call("a"), Library.of_class(), Library.of_no_library(), library.inherited()]


def _installation(hook: Any = _hook, **said: Any) -> Installation:
    said = {"distribution": "-", **said}
    return Installation(Instrumentation("tested", "swagent_tested_library", hook, **said))


def test_a_wrapped_function_is_restored(library: ModuleType) -> None:
    before = dict(vars(Library))
    installation = _installation()
    installation.install()
    assert _state(installation) is State.ACTIVE
    assert _said() == ["A!", "LIBRARY!", "STATIC!", "BASE!"]
    installation.install()
    assert _said() == ["A!", "LIBRARY!", "STATIC!", "BASE!"], "a second time does nothing"
    installation.switch_off("by the test")
    assert _said() == ["a", "Library", "static", "base"]
    assert dict(vars(Library)) == before
    assert installation.state is State.OFF
    installation.install()
    assert _said()[0] == "A!"
    installation.switch_off("by the test")


def test_a_function_that_another_library_has_wrapped_since_stays(
    library: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    installation = _installation()
    installation.install()
    monkeypatch.setattr(Library, "of_no_library", staticmethod(lambda: "theirs"))
    installation.switch_off("by the test")
    assert _said() == ["a", "Library", "theirs", "base"]
    monkeypatch.undo()
    Library.of_no_library = staticmethod(_original)  # type: ignore[method-assign]


@pytest.mark.parametrize("names", [("requests", "urllib3"), ("urllib3", "requests")])
def test_a_function_that_two_have_wrapped_is_as_it_was_once_both_are_undone(names: tuple[str, str]) -> None:
    before = dict(vars(HTTPResponse))
    for name in names:
        instrument(name)
    assert dict(vars(HTTPResponse)) != before
    uninstrument(*names)
    assert dict(vars(HTTPResponse)) == before


def _original() -> str:
    return "static"


@pytest.mark.parametrize("name", ["missing", "value"])
def test_a_hook_that_does_not_fit_changes_nothing_and_says_so_once(
    name: str, library: ModuleType, caplog: pytest.LogCaptureFixture
) -> None:
    def hook(module: Any, patches: Patches) -> None:
        patches.wrap(module.Library, "call", _louder)
        patches.wrap(module.Library, name, _louder)

    installation = _installation(hook)
    with caplog.at_level(logging.WARNING, "swagent"):
        installation.install()
        installation.install()
    assert installation.state is State.FAILED
    assert _said()[0] == "a"
    assert [record.getMessage() for record in caplog.records] == [
        f"tested is not recorded: swagent_tested_library is not as expected: Library has no function {name}"
    ]


def test_a_type_that_cannot_be_changed_is_reported() -> None:
    with pytest.raises(HookError, match="upper cannot be replaced"):
        Patches().wrap(str, "upper", lambda function: lambda *args: function(*args))


def test_an_unknown_version_is_left_alone(library: ModuleType, caplog: pytest.LogCaptureFixture) -> None:
    installation = _installation(distribution="pytest", versions="<2")
    with caplog.at_level(logging.WARNING, "swagent"):
        installation.install()
    assert installation.state is State.UNSUPPORTED
    assert "<2 is supported" in installation.reason
    assert _said()[0] == "a"
    assert len(caplog.records) == 1


def test_a_library_that_is_not_installed_is_absent() -> None:
    installation = _installation(distribution="swagent-tested-nowhere")
    installation.install()
    assert installation.report().state is State.ABSENT


def test_a_library_that_is_not_imported_is_waited_for(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "swagent_tested_later.py").write_text("def call(): return 'a'\n")
    monkeypatch.syspath_prepend(tmp_path)

    def hook(module: Any, patches: Patches) -> None:
        patches.wrap(module, "call", _louder)

    installation = Installation(Instrumentation("later", "swagent_tested_later", hook, distribution="-"))
    installation.install()
    assert _state(installation) is State.WAITING
    import swagent_tested_later  # type: ignore[import-not-found]  # noqa: PLC0415, RUF100

    assert installation.state is State.ACTIVE
    assert swagent_tested_later.call() == "A!"


def test_an_unknown_name_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ConfigError, match="httpx"):
        instrument("http")
