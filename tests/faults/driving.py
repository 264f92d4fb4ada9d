"""Agents in processes of their own, one for each cell, that get their orders all at the same time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

from typing_extensions import Self

from faults.matrix import Cell

SCRIPT = Path(__file__).parent / "driven_agent.py"
Answer = dict[str, Any]


class DrivenAgent:
    """One such process."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def begin(self, backend: str) -> None:
        """Start the process; it gets ready while others are started."""
        path = os.pathsep.join(filter(None, [str(SCRIPT.parents[1]), os.environ.get("PYTHONPATH")]))
        self._process = subprocess.Popen(
            [sys.executable, SCRIPT, backend],
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, **command: Any) -> Answer:
        """Give a command and wait for its answer.

        :raises RuntimeError: when the command failed, or the process is gone
        """
        assert self._process is not None
        there, back = self._process.stdin, self._process.stdout
        assert there is not None
        assert back is not None
        there.write(json.dumps(command) + "\n")
        there.flush()
        answer: Answer = json.loads(back.readline() or '{"error": "the process is gone"}')
        if "error" in answer:
            raise RuntimeError(f"{command} failed: {answer['error']}")
        return answer

    def end(self) -> None:
        """Kill the process."""
        if self._process is not None:
            self._process.kill()
            with self._process:  # closes the pipes
                pass


class Fleet:
    """A driven agent for each cell, as a `with` block."""

    def __init__(self, cells: Iterable[Cell]) -> None:
        self._agents = {cell: DrivenAgent() for cell in cells}
        self._asking = ThreadPoolExecutor(max(1, len(self._agents)))
        self._ends = ExitStack()

    @property
    def cells(self) -> list[Cell]:
        return list(self._agents)

    def __enter__(self) -> Self:
        self._ends.callback(self._asking.shutdown)
        for (_, backend), agent in self._agents.items():
            self._ends.callback(agent.end)
            agent.begin(backend)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ends.close()

    def ask(self, of: Callable[[Cell], Mapping[str, Any]] | None = None, **command: Any) -> dict[Cell, Answer]:
        """Give all of them a command, and wait for all answers.

        :param of: what is different in it from cell to cell
        """
        answers = {
            cell: self._asking.submit(agent.ask, **command, **(of(cell) if of else {}))
            for cell, agent in self._agents.items()
        }
        return {cell: answer.result() for cell, answer in answers.items()}
