"""Whether the names that are looked at inside of other libraries are there, in the installed versions. A failure says
what is not known any more, and so what to look at before another version is let in."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import pkgutil
import queue
import re
import sys
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextvars import Context
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from types import CodeType
from typing import Any, cast

import anyio
import pytest
from packaging.specifiers import SpecifierSet

from swagent import inspection
from swagent.inspection import await_chain, trio_inside
from swagent.inspection.loop_view import context_of, view_of_this_loop
from swagent.inspection.touched import Attribute, Function, Library, Local

NAMED = (Function, Local, Attribute)
PYTHON = ".".join(map(str, sys.version_info[:3]))


def touched() -> Iterator[Function | Local | Attribute]:
    """Every name, of every module."""
    for module in pkgutil.iter_modules(inspection.__path__):
        for found in vars(importlib.import_module(f"{inspection.__name__}.{module.name}")).values():
            several = (
                cast("tuple[object, ...]", found)
                if isinstance(found, tuple) and not isinstance(found, NAMED)
                else (found,)
            )
            for each in several:
                if isinstance(each, NAMED):
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
    assert adapters == {
        f"{each}_inside" for each in ("anyio", "asyncio", "pools", "sqlalchemy", "starlette", "trio", "uvloop")
    }
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


async def _wait() -> None:
    await asyncio.sleep(0)


async def _count() -> AsyncIterator[int]:
    yield 1


def _wrappers(loop: asyncio.AbstractEventLoop) -> dict[str, Any]:
    """An object of each type that is between two coroutines of a chain, by the name of its type."""
    return {
        "coroutine_wrapper": lambda: _wait().__await__(),
        "async_generator_asend": lambda: _count().__aiter__().__anext__(),
        "async_generator_athrow": lambda: cast("AsyncGenerator[int, None]", _count()).athrow(ValueError),
        "anext_awaitable": lambda: anext(_count(), None).__await__(),
        "FutureIter": lambda: loop.create_future().__await__(),
    }


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="the types of CPython")
@pytest.mark.parametrize("name", sorted(await_chain.WRAPPERS))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_an_object_between_two_coroutines_has_its_name(name: str) -> None:
    loop = asyncio.new_event_loop()
    try:
        assert type(_wrappers(loop)[name]()).__name__ == name, "lost: where a task is that waits"
    finally:
        loop.close()


def test_the_run_of_trio_is_where_it_is_looked_for() -> None:
    trio = pytest.importorskip("trio")
    if not trio_inside.LIBRARY.is_known:
        pytest.skip("another version")

    async def look() -> None:
        await trio.lowlevel.checkpoint()
        view = view_of_this_loop()
        task = trio.lowlevel.current_task()
        assert view.is_run(), "lost: whether a loop runs"
        assert view.running() is task, "lost: which task runs"
        assert task in set(view.tasks()), "lost: the tasks of a loop"
        assert not view.is_idle(), "lost: whether a loop is held"
        assert isinstance(context_of(task), Context), "lost: the context of a task"
        assert view.steps()[task] > 0, "lost: how many steps a task has made"

    trio.run(look)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_loop_that_waits_is_in_a_file_that_is_known(backend: str) -> None:
    pytest.importorskip(backend)
    views: queue.SimpleQueue[Any] = queue.SimpleQueue()
    done = threading.Event()

    async def wait() -> None:
        ended = anyio.Event()
        views.put((view_of_this_loop(), ended.set))
        await ended.wait()

    thread = threading.Thread(target=anyio.run, args=(wait,), kwargs={"backend": backend})
    thread.start()
    view, end = views.get(timeout=10)
    try:
        for _ in range(1000):
            if view.is_idle():
                break
            done.wait(0.01)
        assert view.is_idle(), "lost: whether a loop waits for its sockets"
    finally:
        view.notify(end)
        thread.join(10)
