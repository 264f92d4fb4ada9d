"""Fuzz one target for as long as you like, or each in turn:

    make fuzz ARGS="sw8 --seconds 1800 --seed 7"

The corpus is mutated at random. An input that breaks a property is written to a file and named; put it into
tests/fuzz/corpus/TARGET/, where every run of the tests tries it. `differential` and `native`, which is for the
accelerator, are of another kind, and run by their names alone: see `differential.run` and `native.run`.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import random
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

from fuzz.mutation import mutate
from fuzz.targets import TARGETS, quieten, seeds

_REPORT_EVERY = 30.0


def main() -> int:
    """Returns the exit status: 0 when the time was up, 1 when an input was found."""
    if sys.argv[1:2] == ["differential"]:
        # programs, not bytes: it has options of its own
        return importlib.import_module("differential.run").main(sys.argv[2:])  # type: ignore[no-any-return]
    if sys.argv[1:2] == ["native"]:
        return importlib.import_module("native.run").main(sys.argv[2:])  # type: ignore[no-any-return]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", nargs="?", help="by default each in turn")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=random.randrange(2**31))
    args = parser.parse_args()
    if args.target is None:
        return _each_in_turn(args.seconds, args.seed)
    print(f"target {args.target}, seed {args.seed}", flush=True)
    return _at_random(args.target, args.seconds, args.seed)


def _each_in_turn(seconds: float, seed: int) -> int:
    """In a process each."""
    options = [[each, "--seconds", str(seconds), "--seed", str(seed)] for each in TARGETS]
    ends = [subprocess.run([sys.executable, "-m", "fuzz.run", *each], check=False) for each in options]
    # one that was ended by a signal has a status below 0
    return 1 if any(end.returncode for end in ends) else 0


def _at_random(name: str, seconds: float, seed: int) -> int:
    quieten()
    target, known, dice = TARGETS[name], seeds(name), random.Random(seed)
    began = seen = time.monotonic()
    count = 0
    while (now := time.monotonic()) - began < seconds:
        data = known[count] if count < len(known) else mutate(known, dice)
        count += 1
        try:
            target(data)
        except BaseException:
            traceback.print_exc()
            print(f"input {count}: {_keep(name, data)}")
            return 1
        if now - seen > _REPORT_EVERY:
            seen = now
            print(f"{count} inputs, {count / (now - began):.0f} a second", flush=True)
    print(f"{count} inputs, none breaks a property")
    return 0


def _keep(name: str, data: bytes) -> Path:
    path = Path(tempfile.gettempdir()) / f"{name}-{hashlib.sha256(data).hexdigest()[:12]}"
    path.write_bytes(data)
    return path


if __name__ == "__main__":
    sys.exit(main())
