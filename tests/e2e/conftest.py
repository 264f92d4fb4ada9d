"""The common fixtures of this folder; the servers are in `e2e.fixtures`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from e2e.fixtures import make as make
from e2e.graphql import OapQuery
from kit.real.oap import Oap

_HERE = Path(__file__).parent
_SECONDS = 600  # the first run fetches the jars within some test's fixture


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:  # all of the session's, not only this folder's
        if _HERE in item.path.parents:
            item.add_marker(pytest.mark.e2e)
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(_SECONDS))


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def query(oap: Oap) -> AsyncIterator[OapQuery]:
    """Asks `oap`."""
    async with OapQuery(oap.http_address) as client:
        yield client
