"""A WSGI application that knows of no agent's life: that is for `swagent run`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import swagent


def app(environ: dict[str, Any], start_response: Callable[..., object]) -> Iterable[bytes]:
    """Answers the trace's id."""
    text = swagent.current_trace_id().encode()
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(text)))])
    return [text]
