"""How a test says which cells of the fault matrix it proves.

@each_cell("F04")                              # runs once a cell, with `transport` and `anyio_backend`
async def test_stop(transport: str) -> None: ...

@covers("F16", transport="grpc")               # on whatever backends the test runs anyway
async def test_window(...) -> None: ...

@pytest.mark.parametrize("server", [pytest.param("hypercorn-trio", marks=covers("P01", "grpc", "trio"))])
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kit.loops import LOOPS

from .matrix import ANY, BACKENDS, BY_ID, NO_LOOP, Cell


def covers(fault: str, transport: str | None = None, backend: str | None = None) -> pytest.MarkDecorator:
    """Mark a test, or one `pytest.param`, as proof of a row's cells.

    :param transport: grpc, http or kafka; when left out, the test's parameter `transport`, or the row has none
    :param backend: asyncio, uvloop or trio; when left out, the one on which the test runs, if any
    """
    assert fault in BY_ID, f"the matrix has no row {fault}"
    assert backend is None or backend in BACKENDS.values(), backend
    return pytest.mark.covers(fault, transport, backend)


def each_cell(fault: str, *, backend_name: str | None = None) -> Callable[[Any], Any]:
    """Run a test once for each cell of a row, with the parameters `transport` and `anyio_backend`.

    :param backend_name: for tests whose subject runs in another process: the parameter that gets the backend's name
    """
    row = list(BY_ID[fault].cells())
    values = [(transport, backend if backend_name else LOOPS[backend]) for transport, backend in row]
    parametrise = pytest.mark.parametrize(
        ("transport", backend_name or "anyio_backend"), values, ids=[f"{each}-{backend}" for each, backend in row]
    )

    def decorate(test: Any) -> Any:
        return covers(fault)(parametrise(test))

    return decorate


def cells_of(item: pytest.Item) -> Iterator[tuple[str, Cell]]:
    """The rows and cells that a collected test proves."""
    for mark in item.iter_markers("covers"):
        fault, transport, backend = mark.args
        row = BY_ID[fault]
        parameters = getattr(getattr(item, "callspec", None), "params", {})
        found = transport or parameters.get("transport") or (ANY if row.is_any else None)
        if found not in row.transports:
            raise pytest.UsageError(f"{item.nodeid}: {fault} has no transport {found!r}")
        given = backend or parameters.get("backend") or _loop_name(parameters.get("anyio_backend"))
        yield fault, (found, given or NO_LOOP)


def _loop_name(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    name, options = value
    return "uvloop" if options.get("use_uvloop") else str(name)
