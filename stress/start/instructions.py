"""The instructions of a process and of all that it starts, by valgrind: exact to a hundredth, where a time is not."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kit.real.ports import free_ports

from ..cost.counter import build_library
from .measuring import SERVED, Starts, at_port
from .peers import Peer
from .process import StartError, run_to_end, running
from .verdict import AGENT

_LIBRARY = Path(__file__).with_name("exec_as_child.c")
_COUNTED = re.compile(r"I +refs: +([\d,]+)")
_LONGEST = 600.0
"""Seconds until an answer: valgrind makes a process fifty times slower, and others may use the machine."""


class CountedStarts(Starts):
    """Counts the instructions where `Starts` takes the time."""

    def environ(self, peer: Peer) -> Mapping[str, str]:
        """The variables of a process of this peer. Swagent measures a process once it has lived for five seconds, which
        none of these does but by valgrind."""
        given = super().environ(peer)
        return {**given, "SW_AGENT_PVM_METER_REPORTER_ACTIVE": "false"} if peer.name.startswith(AGENT) else given

    def script(self, peer: Peer, arguments: Sequence[str]) -> dict[str, float]:
        """Millions of instructions of a script."""
        with _counting() as count:
            run_to_end(count.command(self.command(peer, arguments)), count.environ(self.environ(peer)), SERVED)
            return {"instructions": count.read()}

    def first_answer(self, peer: Peer, serve: Sequence[str]) -> dict[str, float]:
        """Millions of instructions of a server that answers once and ends."""
        (port,) = free_ports(1)
        with _counting() as count:
            command = count.command(self.command(peer, at_port(serve, port)))
            with running(command, count.environ(self.environ(peer)), SERVED, port, _LONGEST) as server:
                server.end()
            return {"instructions": count.read()}


@dataclass(frozen=True)
class Count:
    """A count of a process and of those that it starts.

    :ivar folder: for what valgrind writes of each; empty
    """

    folder: Path

    def command(self, command: Sequence[str]) -> list[str]:
        """How it is started."""
        log = self.folder / "%p.log"
        return ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null",
                "--trace-children=yes", f"--log-file={log}", *command]  # fmt: skip

    def environ(self, environ: Mapping[str, str]) -> Mapping[str, str]:
        """Its variables; hashes are the same at each run."""
        return {**environ, "LD_PRELOAD": str(build_library(_LIBRARY)), "PYTHONHASHSEED": "0"}

    def read(self) -> float:
        """Millions, of all processes.

        :raises StartError: valgrind wrote nothing
        """
        return read_instructions([log.read_text() for log in self.folder.iterdir()])


@contextmanager
def _counting() -> Iterator[Count]:
    with tempfile.TemporaryDirectory() as folder:
        yield Count(Path(folder))


def read_instructions(logs: Sequence[str]) -> float:
    """Millions of instructions, by what valgrind wrote of each process.

    :raises StartError: no process has a number
    """
    found = [int(number.replace(",", "")) for log in logs for number in _COUNTED.findall(log)]
    if not found:
        raise StartError(f"valgrind counted nothing: {' '.join(logs)[-2000:]}")
    return sum(found) / 1e6
