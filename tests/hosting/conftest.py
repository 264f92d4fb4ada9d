from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def short_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Backoff with next to no delay, unless a test says otherwise."""
    monkeypatch.setattr("swagent.agent.JITTER.random", lambda: 0.01)
