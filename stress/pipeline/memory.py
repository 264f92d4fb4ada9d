"""This process's resident memory."""

from __future__ import annotations

from pathlib import Path

_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")
MIB = 1024 * 1024


def resident() -> int:
    """Bytes now."""
    return _field("VmRSS")


def peak() -> int:
    """Bytes at most, since the process began or `forget_peak` was called."""
    return _field("VmHWM")


def forget_peak() -> None:
    """Let the peak be what is resident now (proc(5), clear_refs: 5)."""
    _CLEAR.write_text("5")


def _field(name: str) -> int:
    for line in _STATUS.read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"{_STATUS} has no {name}")
