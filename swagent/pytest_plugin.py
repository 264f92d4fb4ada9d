"""The plugin for pytest that this distribution has by itself: the fixture `trace`.

pytest imports it in each of its runs, beside whatever it tests. So it imports nothing until a test asks for the
fixture.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .testing.tracing import Trace


@pytest.fixture
def trace(request: pytest.FixtureRequest) -> Iterator[Trace]:
    """Budgets for what the test makes an application in this process do: queries, N+1, held loops, waits, failures."""
    from .testing.extra import needing_collector  # noqa: PLC0415, RUF100  (nothing is imported where no test asks)

    with needing_collector():
        from .testing.trace_fixture import traced  # noqa: PLC0415, RUF100

    with traced(request) as found:
        yield found
