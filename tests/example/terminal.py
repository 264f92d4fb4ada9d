"""A program in a terminal of its own, where Ctrl-C goes to every process of the foreground, as in a real one."""

from __future__ import annotations

import codecs
import os
import pty
import subprocess
import sys
from collections.abc import Mapping, Sequence

# the program cannot be given a terminal before it is there
_TAKE_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


class Terminal:
    """Runs a command; its standard streams are the terminal."""

    def __init__(self, command: Sequence[str], environ: Mapping[str, str]) -> None:
        self._ours, theirs = pty.openpty()
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self.process = subprocess.Popen(
            [sys.executable, "-c", _TAKE_TERMINAL, *command],
            env=environ,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)

    def write(self, keys: bytes) -> None:
        """Press keys."""
        os.write(self._ours, keys)

    def read_until(self, text: str) -> str:
        """The output up to a text, and the output that comes along with it.

        :raises AssertionError: when the program ends before it writes that
        """
        output = ""
        while text not in output:
            more = self._read()
            assert more, f"ended without {text!r}:\n{output}"
            output += more
        return output

    def read_to_end(self) -> str:
        """The output until the last process has left the terminal."""
        return "".join(iter(self._read, ""))

    def _read(self) -> str:
        try:
            return self._decode(os.read(self._ours, 65536))
        except OSError:  # EIO: no process has the terminal any more
            return ""

    def close(self) -> None:
        """End the program, where it has not ended, the gentle way first: it has services to end."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        os.close(self._ours)
