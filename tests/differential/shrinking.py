"""Making a program as short as it gets, as long as it still differs."""

from __future__ import annotations

import re
from collections.abc import Callable

from differential.program import Program

_MOST = 30
"""Attempts: each takes two fresh processes."""


def shorten(program: Program, differs: Callable[[Program], bool]) -> Program:
    """Leave out lines, halves first, then one by one.

    :param differs: whether a shorter program still does
    """
    attempts = 0
    size = max(len(program.lines) // 2, 1)
    while True:
        index = 0
        while index < len(program.lines) and len(program.lines) > 1:
            lines = program.lines[:index] + program.lines[index + size :]
            if lines and _is_whole(lines) and attempts < _MOST:
                attempts += 1
                shorter = program.with_lines(lines)
                if differs(shorter):
                    program = shorter
                    continue
            index += size
        if size == 1:
            return program
        size = max(size // 2, 1)


def _is_whole(lines: tuple[tuple[str, str], ...]) -> bool:
    """Whether each outcome that a line asks for has been made before it."""
    made: set[str] = set()
    for name, text in lines:
        if not set(re.findall(r"\br\d+\b", text)) <= made:
            return False
        made.add(name)
    return True
