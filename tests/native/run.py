"""Compare the implementations for as many random cases as you like:

make test-same-bytes ARGS="--count 100000 --seed 7 --loop uvloop"
"""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path

from native.comparison import compare

LOOPS = ("asyncio", "uvloop", "trio")


def main(arguments: list[str] | None = None) -> int:
    """Returns the exit status: 1 when there is a difference, or the accelerator did not run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100_000, help="how many cases in all")
    parser.add_argument("--seed", type=int, default=random.randrange(2**31))
    parser.add_argument("--loop", choices=LOOPS, action="append", help="by default a third of the cases on each")
    parser.add_argument("--natives", nargs=2, default=("off", "auto"), metavar=("ONE", "OTHER"))
    parser.add_argument("--clock", type=Path, help="the library of the clock; left out, it is built")
    options = parser.parse_args(arguments)
    loops = options.loop or LOOPS
    status = 0
    for loop in loops:
        found = compare(options.count // len(loops), options.seed, loop, tuple(options.natives), clock=options.clock)
        said = found.difference or f"the same: {found.frames}, by {' and by '.join(found.implementations)}"
        print(f"{loop}, seed {options.seed}: {said}", flush=True)
        is_native = options.natives[1] == "off" or found.implementations[1] == "the accelerator"
        status = status or int(bool(found.difference) or not is_native)
    return status


if __name__ == "__main__":
    sys.exit(main())
