"""The extra that the embedded collector needs, and that only some of these tests' helpers do."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

_MISSING = "{} is missing; install it with: pip install 'swagent[collector]'"


@contextmanager
def needing_collector() -> Generator[None, None, None]:
    """Around the import of the embedded collector.

    :raises ModuleNotFoundError: when the extra `collector` is not installed; says so
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("swagent"):
            raise
        raise ModuleNotFoundError(_MISSING.format(error.name), name=error.name) from error
