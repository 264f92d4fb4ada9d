"""loguru: its records are reported wherever it is loaded before the agent starts; here, where it is loaded after."""

from __future__ import annotations

from typing import Any

from ....record.logs import capture
from ...instrumentation import Instrumentation
from ...patches import Patches


def _hook(_: Any, __: Patches) -> None:
    running = capture.running()
    if running is not None:
        running.attach_loguru()


INSTRUMENTATION = Instrumentation(
    name="loguru",
    module="loguru",
    hook=_hook,
    versions=">=0.7,<1",
    plugins=("sw_loguru",),
)
