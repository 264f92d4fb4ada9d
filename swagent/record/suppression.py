"""The mark of the agent's own work, which is not to be recorded."""

from __future__ import annotations

from contextvars import ContextVar

suppress_instrumentation: ContextVar[bool] = ContextVar("swagent_suppress_instrumentation", default=False)
"""True in the agent's own tasks and in all tasks that they start. Nothing is traced there, and nothing that is logged
there is reported. When the application uses the same libraries, that is traced and reported."""
