"""On which loops lives are lived: not in asyncio's debug mode, which would only take time here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from faults.covering import covers
from faults.matrix import BY_ID
from kit.virtual_time import virtual_trio

_LOOPS: dict[str, Any] = {
    "asyncio": ("asyncio", {}),
    "uvloop": ("asyncio", {"use_uvloop": True}),
    "trio": ("trio", {}),
}
_ASYNCIO = [pytest.param(_LOOPS[name], id=name) for name in ("asyncio", "uvloop")]

on_asyncio = pytest.mark.parametrize("anyio_backend", _ASYNCIO)
on_all = pytest.mark.parametrize("anyio_backend", [*_ASYNCIO, pytest.param(virtual_trio(), id="trio")])


def each_cell_lived(fault: str) -> Callable[[Any], Any]:
    """As `each_cell`; slow."""
    cells = list(BY_ID[fault].cells())
    values = [(transport, _LOOPS[backend]) for transport, backend in cells]
    ids = [f"{transport}-{backend}" for transport, backend in cells]
    parametrise = pytest.mark.parametrize(("transport", "anyio_backend"), values, ids=ids)
    return lambda test: pytest.mark.slow(covers(fault)(parametrise(test)))
