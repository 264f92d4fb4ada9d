"""Records handed to another process: `python -m stress.lessons.process_handover SECONDS`; prints one line of JSON."""

from __future__ import annotations

import json
import multiprocessing
import sys
import time
from multiprocessing.connection import Connection
from typing import Any

from stress.clients.records import BINARY

_ROOM = 8192


def take(queue: Any, answers: Connection) -> None:
    """Take records until one is empty, twice: the first time warms up. Answers with how many, and their CPU seconds."""
    for _ in range(2):
        taken, cpu = 0, time.process_time()
        while queue.get():
            taken += 1
        answers.send((taken, time.process_time() - cpu))


def hand_over(seconds: float) -> dict[str, float]:
    """Hand records over for so long, and wait until all were taken out."""
    spawning = multiprocessing.get_context("spawn")
    queue = spawning.Queue(_ROOM)
    ours, theirs = spawning.Pipe()
    process = spawning.Process(target=take, args=(queue, theirs))
    process.start()
    result: dict[str, float] = {}
    for period in (0.2, seconds):
        sent, cpu, until = 0, time.process_time(), time.monotonic() + period
        while not sent or time.monotonic() < until:
            queue.put(BINARY)
            sent += 1
        queue.put(b"")
        taken, others = ours.recv()
        assert taken == sent, f"{sent} were handed over, {taken} were taken out"
        result = {"sent": sent, "cpu": time.process_time() - cpu + others}
    process.join()
    return result


def main(seconds: str) -> None:
    """Run it."""
    print(json.dumps(hand_over(float(seconds))))


if __name__ == "__main__":
    main(*sys.argv[1:])
