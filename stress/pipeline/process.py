"""Processes that are asked and answer, line by line, each on a core of its own."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import psutil

SENDER, OTHERS = 0, 1
"""The cores, counted among those that we may use: the sender runs alone on the first."""


class ProcessEndedError(Exception):
    """A process ended instead of answering."""


class Conversation:
    """A process of this Python, by its module."""

    def __init__(self, module: str, arguments: Sequence[str]) -> None:
        self._module = module
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._usage = psutil.Process(self._process.pid)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def hear(self) -> str:
        """Its next line.

        :raises ProcessEndedError: when there is none
        """
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise ProcessEndedError(f"{self._module} ended with status {self._process.wait()}")
        return line

    def ask(self, text: str) -> Any:
        """Say a line, and take the answer, which is JSON.

        :raises ProcessEndedError: when it ends before it has answered
        """
        self.say(text)
        return json.loads(self.hear())

    def say(self, text: str) -> None:
        """Say a line; the answer can be heard later."""
        assert self._process.stdin is not None
        self._process.stdin.write(text + "\n")
        self._process.stdin.flush()

    def cpu(self) -> float:
        """CPU seconds that it has used."""
        return cpu_of(self._usage)

    def end(self) -> str:
        """Let its input end, and wait for it; what it said to that. Twice is harmless."""
        assert self._process.stdin is not None
        if self._process.stdin.closed:
            return ""
        with contextlib.suppress(BrokenPipeError):
            return self._process.communicate()[0]
        return ""

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()


def cpu_of(process: psutil.Process) -> float:
    """CPU seconds that a process has used."""
    times = process.cpu_times()
    return times.user + times.system


@contextlib.contextmanager
def conversing(module: str, *arguments: str, core: int) -> Iterator[Conversation]:
    """A conversation that ends with the block, and is killed when the block fails."""
    with on_core(core):
        conversation = Conversation(module, arguments)
    try:
        yield conversation
        conversation.end()
    finally:
        conversation.kill()


@contextlib.contextmanager
def on_core(number: int) -> Iterator[None]:
    """Let what is started in the block run on one core. Without a second core, or where cores cannot be chosen, all
    share what there is."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    allowed = os.sched_getaffinity(0)
    if len(allowed) > 1:
        os.sched_setaffinity(0, {sorted(allowed)[number]})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def pinned() -> bool:
    """Whether sender and collector have a core each."""
    return hasattr(os, "sched_setaffinity") and len(os.sched_getaffinity(0)) > 1
