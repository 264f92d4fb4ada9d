"""What `make nightly` runs: all that is neither in `make test` nor in the gate, in shards.

    python tests/nightly.py [SHARD ...]

Shards run two at a time, since most of them wait more than they work; those that measure run alone, at the end. The
output of a shard is in `.cache/nightly/SHARD.log`; a single shard prints its output. The table at the end has a line
for each shard: the tests that passed and failed, and the seconds. The exit status is 1 if a command failed.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from random import SystemRandom

ROOT = Path(__file__).parents[1]
LOGS = ROOT / ".cache" / "nightly"
_PYTEST = f"{sys.executable} -m pytest --tier=nightly"
_MAKE = "make --no-print-directory"
_LAST_LINE = re.compile(r"\d+ (?:passed|failed|error).* in [\d.]+s")
_COUNTS = re.compile(r"(\d+) (passed|failed|error)")


@dataclass(frozen=True)
class Shard:
    """Commands that run one after the other, each even if another one failed.

    :ivar alone: whether nothing else may run meanwhile, because it measures time
    """

    commands: Sequence[str]
    alone: bool = False


# The longest first: what is left at the end should be short.
SHARDS = {
    "servers": Shard(
        [
            # compiled against its server's library, which not every machine has
            f"{sys.executable} -m pip install -q -c tests/pins.txt mysqlclient",
            f"SWAGENT_TESTS_COLLECT=whole {sys.executable} -m pytest tests/instrument -m 'e2e or slow or collects'",
        ]
    ),
    "faults": Shard([f"{_PYTEST} tests/faults"]),
    "differential": Shard([f"{_PYTEST} tests/differential"]),
    "pythons": Shard(
        [
            "python3 tests/pythons.py",
            "python3 tests/pythons.py --only 3.14 3.15 PyPy --suites demo",
            "python3 tests/pythons.py --only 3.10 3.14 --suites unit",
            "python3 tests/pythons.py --only 3.14 --suites attach",
        ]
    ),
    "page": Shard([f"{_MAKE} test-page"]),
    "oldest": Shard([f"{_MAKE} test-oldest", f"{sys.executable} tests/floors.py"]),
    "oap": Shard([f"{_PYTEST} tests/e2e tests/contract tests/transports tests/official"]),
    "lives": Shard(
        [
            f"{_PYTEST} tests --ignore=tests/instrument --ignore=tests/faults --ignore=tests/differential"
            " --ignore=tests/e2e --ignore=tests/contract --ignore=tests/transports --ignore=tests/official"
            " --ignore=tests/injection --ignore=tests/release --ignore=tests/wheel --ignore=tests/ways"
            " --ignore=tests/stress"
        ]
    ),
    "native": Shard(
        [
            f"{_MAKE} VENV=.venv-native test-native",
            f"{_MAKE} VENV=.venv-native test-same-bytes",
            f"{_MAKE} VENV=.venv-native test-native-asan",
        ]
    ),
    "packages": Shard(
        [
            f"{_PYTEST} tests/injection tests/release tests/wheel tests/ways",
            f"{_MAKE} wheels",
        ]
    ),
    "foreign": Shard([f"{sys.executable} tests/foreign.py"]),
    "newest": Shard([f"{_MAKE} clean test VENV=.venv-newest PINS="]),
    "world": Shard(
        [
            f"{_PYTEST} tests/stress",
            f"{_MAKE} world ARGS='--seeds 500'",
            f"{_MAKE} fuzz",
        ]
    ),
    "soak": Shard([f"{_MAKE} soak ARGS='--minutes 10'"]),
    "load": Shard(
        [
            f"{sys.executable} -m stress pipeline --short",
            f"{sys.executable} -m stress compare --short",
        ],
        alone=True,
    ),
}


@dataclass
class Outcome:
    """How a shard ended."""

    shard: str
    failures: list[str]
    counts: dict[str, int]
    seconds: float

    def __str__(self) -> str:
        passed = self.counts.get("passed", 0)
        failed = self.counts.get("failed", 0) + self.counts.get("error", 0)
        ended = "FAILED: " + "; ".join(self.failures) if self.failures else "passed"
        return f"{self.shard:<14}{passed:>7}{failed:>8}{self.seconds:>9.0f}  {ended}"


def main() -> int:
    """Run the shards; the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("shards", nargs="*", metavar="SHARD", help=f"one or more of: {', '.join(SHARDS)}")
    names = parser.parse_args().shards or list(SHARDS)
    if unknown := [each for each in names if each not in SHARDS]:
        parser.error(f"there is no shard {', '.join(unknown)}; the shards are {', '.join(SHARDS)}")
    LOGS.mkdir(parents=True, exist_ok=True)
    # what a shell starts in the background ignores interrupts, and so do its programs, which tests interrupt
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # random tests draw anew each night, and name the seed that repeats what they drew
    os.environ.setdefault("TEST_SEED", str(SystemRandom().randrange(1_000_000)))
    if len(names) > 1 or os.environ.get("CI"):
        subprocess.run([ROOT / ".ci" / "machine", "nightly"], check=True)
    outcomes = list(_run_all(names))
    print(f"\n{'shard':<14}{'passed':>7}{'failed':>8}{'seconds':>9}", *outcomes, sep="\n")
    return 1 if any(each.failures for each in outcomes) else 0


def _run_all(names: Sequence[str]) -> Iterator[Outcome]:
    beside = [each for each in names if not SHARDS[each].alone]
    with ThreadPoolExecutor(2) as pool:
        yield from pool.map(lambda each: _run(each, shows=len(names) == 1), beside)
    yield from (_run(each, shows=len(names) == 1) for each in names if SHARDS[each].alone)


def _run(name: str, shows: bool) -> Outcome:
    began = time.monotonic()
    print(f"=== {name} begins", flush=True)
    path = LOGS / f"{name}.log"
    failures = []
    path.write_bytes(b"")
    output = f"2>&1 | tee -a {path}" if shows else f">> {path} 2>&1"
    for command in SHARDS[name].commands:
        line = f"echo '===' {shlex.quote(command)} {output}; ({command}) {output}"
        if subprocess.run(["bash", "-o", "pipefail", "-c", line], cwd=ROOT, check=False).returncode != 0:
            failures.append(command)
    counts: dict[str, int] = {}
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        for count, word in _COUNTS.findall(line) if _LAST_LINE.search(line) else ():
            counts[word] = counts.get(word, 0) + int(count)
    outcome = Outcome(name, failures, counts, time.monotonic() - began)
    print(f"=== {outcome}", flush=True)
    return outcome


if __name__ == "__main__":
    sys.exit(main())
