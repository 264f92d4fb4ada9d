from __future__ import annotations

import pytest

from swagent.meters import MeterRegistry


@pytest.fixture
def registry() -> MeterRegistry:
    return MeterRegistry()
