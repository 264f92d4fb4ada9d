"""One side: a process that runs programs as they come, and says what it saw of each.

    [swagent run --] python -m differential.worker PROGRAMS ANSWERS

Both are descriptors, of pipes that carry one document a line. The first line has the world's setup and variables.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import sys
from typing import Any

from differential.execution import Around, execute
from differential.program import Program


def main() -> None:
    incoming, outgoing = int(sys.argv[1]), int(sys.argv[2])
    with os.fdopen(incoming) as programs, os.fdopen(outgoing, "w") as answers:
        first = json.loads(programs.readline())
        variables: dict[str, str] = first["variables"]
        around = _around()
        _warm_up(first["setup"], variables, around, first["loops"])
        for line in programs:
            program = _program(json.loads(line))
            seen = execute(program, first["setup"], variables, around, settles=first["settles"])
            answers.write(json.dumps(seen) + "\n")
            answers.flush()


def _around() -> Around:
    """A span around a program, where there is an agent. The other side knows nothing of swagent."""
    if "swagent" not in sys.modules:
        return lambda _: contextlib.nullcontext()
    import swagent.agent  # noqa: F401  (it starts the agent, which would open its descriptors in a program)
    from swagent import local_span

    return local_span


def _warm_up(setup: str, variables: dict[str, str], around: Around, loops: list[str]) -> None:
    """Work that is done once in a process, by imports and caches, is no difference between two programs."""
    for loop in loops or [""]:
        execute(Program("warm-up", 0, loop, False, ()), setup, variables, around)
    gc.collect()
    gc.freeze()


def _program(document: dict[str, Any]) -> Program:
    return Program(**{**document, "lines": tuple((name, text) for name, text in document["lines"])})


if __name__ == "__main__":
    main()
