"""The reader of a command may leave before its end: `swagent doctor | head`."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

COMMANDS = [["doctor", "--no-network"], ["config"], ["config", "--markdown"]]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("buffering", ["", "1"], ids=["buffered", "unbuffered"])
def test_a_reader_that_left_is_no_error(command: list[str], buffering: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        result = subprocess.run(
            [sys.executable, "-m", "swagent", *command],
            stdout=writing, stderr=subprocess.PIPE, env={**os.environ, "PYTHONUNBUFFERED": buffering}, timeout=120,
        )  # fmt: skip
    finally:
        os.close(writing)
    assert result.stderr == b""
    assert result.returncode == 141
