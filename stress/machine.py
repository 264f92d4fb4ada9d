"""On what it was measured."""

from __future__ import annotations

import os
import platform
from pathlib import Path


def describe_machine() -> str:
    """Processor, system and Python, in a line."""
    model = next((line.split(":", 1)[1].strip() for line in _cpuinfo() if line.startswith("model name")), "unknown")
    system = f"{platform.system()} {platform.release()}"
    return f"{os.cpu_count()} cores of {model}; {system}; Python {platform.python_version()}"


def _cpuinfo() -> list[str]:
    return Path("/proc/cpuinfo").read_text().splitlines()
