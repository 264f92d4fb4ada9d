"""Log records of libraries that do not go through `logging`.

Records of `logging` are reported by themselves while an agent runs. So are those of loguru, if the application has
loaded it before the agent starts, or later under `swagent run` or after `swagent.instrument.instrument()`. If not, call
`logger.add(loguru_sink)`. structlog needs `structlog_processor` among its processors. Without a running agent both do
nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, cast

from .config.options import level_number
from .record.logs.capture import running
from .record.trace.spans import current_trace_id

__all__ = ["loguru_sink", "structlog_processor"]

# structlog's names of methods for which `logging` has no level
_LEVELS = {"exception": logging.ERROR, "err": logging.ERROR, "trace": 5, "success": 25}


def loguru_sink(message: Any) -> None:
    """A sink for loguru: `logger.add(loguru_sink)`. A record that the agent has got already is not reported again. Do
    not use `enqueue=True`: it hands records to a thread that knows no trace."""
    capture = running()
    record = getattr(message, "record", None)
    if capture is not None and isinstance(record, Mapping):
        capture.report_loguru(cast("Mapping[str, Any]", record))


def structlog_processor(logger: Any, name: str, event: Any) -> Any:
    """A processor for structlog; put it before the renderer.

    Inside a recorded trace it adds `trace_id` to the event; nothing else changes. Events that structlog hands on to
    `logging` are reported from there.
    """
    # a renderer before us may have made anything of it
    fields: dict[str, Any] = event if isinstance(event, dict) else {}  # pyright: ignore[reportUnknownVariableType]
    trace_id = current_trace_id()
    if trace_id and "trace_id" not in fields:
        fields["trace_id"] = trace_id
    capture = None if "_record" in fields else running()
    if capture is not None and not isinstance(logger, logging.Logger):
        capture.report_structlog(_level(name), name, logger, event)
    return event  # pyright: ignore[reportUnknownVariableType]


def _level(method: str) -> int:
    number = _LEVELS.get(method) or level_number(method.upper())
    return number if number is not None else logging.INFO
