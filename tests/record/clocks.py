"""The clocks of spans, set by a test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from swagent.acceleration import native
from swagent.record.trace import span as span_module


@contextmanager
def spans_by(wall: Callable[[], float], monotonic: Callable[[], float]) -> Iterator[None]:
    """Let spans read these clocks, whichever implementation records."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(span_module, "time", SimpleNamespace(time=wall, monotonic=monotonic))
        if native is not None:
            native.set_clock(monotonic)
        try:
            yield
        finally:
            if native is not None:
                native.set_clock(None)
