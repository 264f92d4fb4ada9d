"""Whether the names that are looked at inside of other libraries are there, in the installed versions. A failure says
what is not known any more, and so what to look at before another version is let in."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from types import CodeType
from typing import Any

import pytest
from packaging.specifiers import SpecifierSet

from swagent import inspection
from swagent.inspection.touched import Attribute, Function, Library, Local

PYTHON = ".".join(map(str, sys.version_info[:3]))


def touched() -> Iterator[Function | Local | Attribute]:
    """Every name, of every module."""
    for module in pkgutil.iter_modules(inspection.__path__):
        for each in vars(importlib.import_module(f"{inspection.__name__}.{module.name}")).values():
            if isinstance(each, Function | Local | Attribute):
                yield each


NAMES = [*dict.fromkeys(touched())]
FUNCTIONS = [each for each in NAMES if isinstance(each, Function)]
LOCALS = [each for each in NAMES if isinstance(each, Local)]
ATTRIBUTES = [each for each in NAMES if isinstance(each, Attribute)]


def is_here(library: Library, pythons: str, versions: str = "") -> bool:
    """Whether this Python and the installed version are to have it."""
    if not SpecifierSet(pythons).contains(PYTHON):
        return False
    if library.distribution == "python":
        return True
    try:
        return SpecifierSet(versions, prereleases=True).contains(version(library.distribution))
    except PackageNotFoundError:
        return False


def code_of(function: Function) -> CodeType:
    """The code of a function, which may be inside of another one."""
    found: Any = importlib.import_module(function.module)
    code: CodeType | None = None
    for name in function.name.split("."):
        if code is None:
            assert hasattr(found, name), f"{function.module} has no {function.name} any more; lost: {function.lost}"
            found = inspect.unwrap(getattr(found, name))
            code = getattr(found, "__code__", None)
            continue
        inner = [each for each in code.co_consts if isinstance(each, CodeType) and each.co_name == name]
        assert inner, f"{function.module}: {code.co_name} has no {name} any more; lost: {function.lost}"
        code = inner[0]
    assert code is not None, f"{function.name} is no function of Python any more; lost: {function.lost}"
    return code


def test_every_adapter_has_names() -> None:
    adapters = {each.name for each in pkgutil.iter_modules(inspection.__path__) if each.name.endswith("_inside")}
    assert adapters == {f"{each}_inside" for each in ("anyio", "asyncio", "sqlalchemy", "starlette", "trio")}
    assert (len(FUNCTIONS), len(LOCALS), len(ATTRIBUTES)) >= (15, 15, 15)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: f"{each.module}.{each.name}")
def test_function(function: Function) -> None:
    if is_here(function.library, function.pythons):
        assert code_of(function).co_name == function.place[1]


@pytest.mark.parametrize("local", LOCALS, ids=lambda each: f"{each.function.module}.{each.function.name}.{each.name}")
def test_local(local: Local) -> None:
    function = local.function
    if is_here(function.library, function.pythons):
        code = code_of(function)
        names = {*code.co_varnames, *code.co_cellvars, *code.co_freevars}
        assert local.name in names, f"{function.name} has no local {local.name} any more; lost: {function.lost}"


@pytest.mark.parametrize("attribute", ATTRIBUTES, ids=lambda each: f"{each.owner}.{each.name}")
def test_attribute(attribute: Attribute) -> None:
    if not is_here(attribute.library, attribute.pythons, attribute.versions):
        return
    module, _, name = attribute.owner.partition(":")
    owner = getattr(importlib.import_module(module), name)
    assert has_attribute(owner, attribute.name), f"{attribute.owner} has no {attribute.name}; lost: {attribute.lost}"


def has_attribute(owner: type, name: str) -> bool:
    """Whether its instances have it: a class says so, or its code sets it."""
    if hasattr(owner, name) or any(name in getattr(each, "__annotations__", ()) for each in owner.__mro__):
        return True
    return re.search(rf"\bself\.{name}\b.*=", source_of(owner)) is not None


def source_of(owner: type) -> str:
    """Of a class; of one that attrs has made anew only its `__init__` has a source."""
    try:
        return inspect.getsource(owner)
    except OSError:
        init: Any = owner.__init__  # type: ignore[misc]
        return inspect.getsource(init)


@pytest.mark.parametrize("name", ["anyio", "trio", "starlette", "sqlalchemy", "greenlet"])
def test_the_installed_version_was_looked_at(name: str) -> None:
    libraries: list[Library] = [*(each.library for each in FUNCTIONS), *(each.library for each in ATTRIBUTES)]
    libraries = [each for each in libraries if each.distribution == name]
    assert libraries
    if find_spec(name) is None:
        pytest.skip(f"without {name}")
    assert all(each.is_known for each in libraries), f"{name} {version(name)} was not looked at: {libraries[0]}"


def test_nothing_is_looked_at_in_another_version() -> None:
    strange = Library("anyio", "<1")
    function = Function(strange, __name__, "test_nothing_is_looked_at_in_another_version", "nothing")
    frame = inspect.currentframe()
    assert frame is not None
    assert Local(function, "strange").of(frame) is None
    assert Local(function._replace(library=Library("anyio", ">=4")), "strange").of(frame) is strange
    assert Attribute(strange, "x:Y", "versions", "nothing").of(strange) is None


def test_a_library_that_is_not_installed_is_not_known() -> None:
    assert not Library("there-is-no-such-library", ">=0").is_known
