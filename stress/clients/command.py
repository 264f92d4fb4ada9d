"""`python -m stress clients`: the libraries that were chosen from, each bench in a process of its own."""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from stress.choices import some
from stress.environments import CACHE, python_with, with_this_code
from stress.machine import describe_machine
from stress.markdown import make_table
from stress.pipeline.memory import MIB
from stress.pipeline.process import SENDER, on_core
from stress.pipeline.sinks import counting_sink, open_broker

from .bench import MODULES, benches
from .kafka import topic_of

REQUIREMENTS = (
    "aiohttp>=3.9,<4", "aiokafka>=0.12,<0.15", "anyio>=4.10,<5", "confluent-kafka>=2.5,<3", "httpx>=0.27,<0.29",
    "janus>=1.0,<3", "psutil>=5.9", "sniffio>=1.3", "typing-extensions>=4.12",
)  # fmt: skip
_HEAD = ("what", "way", "records/s", "records/CPU s", "CPU, µs a record", "peak memory, MiB", "delivered")
Count = Callable[[str], int]
"""How many records have arrived so far, of the bench of this name."""


@dataclass(frozen=True)
class Result:
    """The result of one bench.

    :ivar sent: how many records were acknowledged, as the client says
    :ivar delivered: how many have arrived; where nothing travels, how many were taken out: the bench compares these
    """

    group: str
    name: str
    sent: int
    delivered: int
    seconds: float
    cpu: float
    rss_peak: int

    @property
    def fault(self) -> str:
        """Why it is void; empty when it is not."""
        return "" if self.sent == self.delivered > 0 else f"sent {self.sent}, delivered {self.delivered}"


def main(arguments: list[str]) -> int:
    """Run them.

    :returns: 0 when everything was delivered
    """
    given = _parse(arguments)
    given.out.mkdir(parents=True, exist_ok=True)
    python = python_with("clients", REQUIREMENTS)
    results = [result for group in given.groups for result in _run_group(python, group, given.seconds, given.rounds)]
    text = render(results)
    print("", text, sep="\n", flush=True)
    (given.out / "clients.md").write_text(text + "\n")
    document = {
        "machine": describe_machine(),
        "requirements": REQUIREMENTS,
        "results": [asdict(each) for each in results],
    }
    (given.out / "clients.json").write_text(json.dumps(document, indent=1))
    return 1 if any(each.fault for each in results) else 0


def render(results: Sequence[Result]) -> str:
    """A table in Markdown. A rate without what was to be delivered is void."""
    return make_table(_HEAD, (_row(each) for each in results))


def _row(result: Result) -> Sequence[str]:
    if result.fault:
        return (result.group, result.name, f"void: {result.fault}", *[""] * (len(_HEAD) - 3))
    return (
        result.group,
        result.name,
        f"{result.delivered / result.seconds:,.0f}",
        f"{result.delivered / result.cpu:,.0f}",
        f"{result.cpu / result.delivered * 1e6:.1f}",
        f"{result.rss_peak / MIB:.1f}",
        f"{result.delivered:,} of {result.sent:,}",
    )


def _run_group(python: Path, group: str, seconds: float, rounds: int) -> Iterator[Result]:
    """The benches take turns, round by round."""
    with _place(group) as (address, count):
        for name in [*benches(group)] * rounds:
            before = count(name)
            result = _run(python, group, name, address, seconds)
            arrived = count(name) - before - result["warm"] if address else result["sent"]
            found = Result(group, name, result["sent"], arrived, result["seconds"], result["cpu"], result["rss_peak"])
            print(f"{group}: {name}: {found.fault or f'{found.sent / found.seconds:,.0f} a second'}", flush=True)
            yield found


@contextmanager
def _place(group: str) -> Iterator[tuple[str, Count]]:
    """Where a group's benches send to; nowhere for those that only hand over."""
    if group == "kafka":
        with open_broker([topic_of(name) for name in benches(group)]) as broker:
            yield broker.address, lambda name: broker.count_topic(topic_of(name))
    elif group == "http":
        with counting_sink("http") as sink:
            yield sink.address, lambda _: sink.count()
    else:
        yield "", lambda _: 0


def _run(python: Path, group: str, name: str, address: str, seconds: float) -> dict[str, int]:
    command = [str(python), "-m", "stress.clients.bench", group, name, address, str(seconds)]
    with on_core(SENDER):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, env=with_this_code(), text=True)
    text, _ = process.communicate()
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    result: dict[str, int] = json.loads(text)
    return result


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m stress clients", description="The choice of libraries.")
    parser.add_argument("--groups", type=some(MODULES), default=tuple(MODULES), help=",".join(MODULES))
    parser.add_argument("--seconds", type=float, default=3.0, help="for each bench (%(default)g)")
    parser.add_argument("--rounds", type=int, default=1, help="(%(default)d)")
    parser.add_argument("--out", type=Path, default=CACHE / "clients", help="(%(default)s)")
    return parser.parse_args(arguments)
