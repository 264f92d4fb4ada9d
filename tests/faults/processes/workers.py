"""gunicorn's workers, one for each loop."""

from __future__ import annotations

from typing import Any, ClassVar

from uvicorn_worker import UvicornWorker


class Asyncio(UvicornWorker):  # type: ignore[misc]  # it has no types
    CONFIG_KWARGS: ClassVar[dict[str, Any]] = {"loop": "asyncio", "http": "auto"}


class Uvloop(UvicornWorker):  # type: ignore[misc]  # it has no types
    CONFIG_KWARGS: ClassVar[dict[str, Any]] = {"loop": "uvloop", "http": "auto"}
