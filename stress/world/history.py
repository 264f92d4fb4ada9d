"""What has happened in a world, line by line. One seed, one history: its digest is the same in every run."""

from __future__ import annotations

import hashlib
from collections.abc import Callable


class History:
    """The events of one run.

    :ivar violations: what must not be, in order; the first one ends the run
    """

    def __init__(self, *, is_verbose: bool = False, keeps: bool = False) -> None:
        """:param is_verbose: print each line as it comes
        :param keeps: keep the lines
        """
        self._digest = hashlib.sha256()
        self._is_verbose = is_verbose
        self._keeps = keeps
        self.lines: list[str] = []
        self.count = 0
        self.violations: list[str] = []
        self.now: Callable[[], float] = float
        self.on_violation: Callable[[], object] = int

    def note(self, what: str) -> None:
        """Add a line."""
        line = f"{self.now():12.6f} {what}"
        self.count += 1
        self._digest.update(line.encode() + b"\n")
        if self._is_verbose:
            print(line, flush=True)
        if self._keeps:
            self.lines.append(line)

    def violate(self, what: str) -> None:
        """Note what must not be."""
        if not self.violations:
            self.violations.append(what)
            self.note(f"VIOLATED {what}")
            self.on_violation()

    @property
    def digest(self) -> str:
        """Of all lines."""
        return self._digest.hexdigest()
