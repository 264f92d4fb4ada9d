"""One visit: one contestant, one handler, one fresh process; all that is measured there."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import psutil

from ..environments import ROOT
from .arrivals import FixedRate
from .contestants import Contestant
from .serving import Application, Counts, Exit, serve
from .sinks import Delivered, Sinks
from .wrk import Saturation, saturate


class LoadError(Exception):
    """The load at a fixed rate broke; the text says how."""


@dataclass(frozen=True)
class Load:
    """How much: seconds of each phase, and by share the rates of the open loop. They come before saturation, so that
    what saturation leaves in a queue is not in their way."""

    warm_up: float
    seconds: float
    rates: Mapping[str, float]


@dataclass(frozen=True)
class Measurement:
    """The result of one visit.

    :ivar number: of the round
    :ivar fixed: by the share of the bare application's saturation
    :ivar cpu: seconds of the application's processor time per 1,000 requests, for each phase by its name
    :ivar rss: MiB, at the end of the load
    :ivar expected: the records that the served requests should have delivered
    :ivar steal: the largest share of one core that the machine's host took for others
    """

    contestant: str
    handler: str
    number: int
    saturation: Saturation
    fixed: Mapping[str, FixedRate]
    cpu: Mapping[str, float]
    rss: float
    expected: Delivered
    delivered: Delivered
    ending: Exit
    steal: float


class Visit:
    """One contestant's process under load."""

    def __init__(self, contestant: Contestant, handler: str, load: Load) -> None:
        self.contestant = contestant
        self.handler = handler
        self.load = load
        self.fixed: dict[str, FixedRate] = {}
        self.cpu: dict[str, float] = {}

    def measure(self, number: int, python: Path, sinks: Sinks, folder: Path) -> Measurement:
        """Start, warm up, load, stop, count.

        :param number: of the round
        :param python: the contestant's interpreter
        :param folder: for the application's output
        :raises ServingError, WrkError, LoadError, SinkError: there is nothing to compare
        """
        sink = sinks.find(self.contestant.sink)
        before, steal = sink.count(), _Steal()
        environ = {**self.contestant.settings(sink.address), "COMPARED_UPSTREAM": sinks.upstream}
        log = folder / f"{self.contestant.name}-{self.handler}.log"
        with ExitStack() as stack:
            application = serve(self.contestant, python, environ, log, stack)
            saturation = self._put_under_load(application)
            rss = application.rss()
            counts = application.wait_idle()
            ending = application.stop()
        return Measurement(
            contestant=self.contestant.name,
            handler=self.handler,
            number=number,
            saturation=saturation,
            fixed=self.fixed,
            cpu=self.cpu,
            rss=rss,
            expected=self._expect(counts),
            delivered=sink.count() - before,
            ending=ending,
            steal=steal.share(),
        )

    def _put_under_load(self, application: Application) -> Saturation:
        if self.load.rates:
            _drive(application, self.handler, min(self.load.rates.values()), self.load.warm_up)
        else:
            saturate(self._url(application), self.load.warm_up)
        for share, rate in self.load.rates.items():
            used = application.cpu()
            self.fixed[share] = found = _drive(application, self.handler, rate, self.load.seconds)
            if not found.answered:
                raise LoadError(f"at {rate:.0f} requests a second none was answered")
            self.cpu[share] = 1000 * (application.cpu() - used) / (found.requests * found.answered)
        used = application.cpu()
        saturation = saturate(self._url(application), self.load.seconds)
        self.cpu["saturation"] = 1000 * (application.cpu() - used) / saturation.requests
        return saturation

    def _url(self, application: Application) -> str:
        return f"http://127.0.0.1:{application.port}/{self.handler}"

    def _expect(self, counts: Counts) -> Delivered:
        if not self.contestant.sink:
            return Delivered(0, 0)
        asking = counts.asked * self.contestant.records_of("trivial")
        return Delivered(counts.ended * self.contestant.records_of(self.handler) + asking, counts.logged)


def _drive(application: Application, handler: str, rate: float, seconds: float) -> FixedRate:
    command = [sys.executable, "-m", "stress.compare.open_loop", str(application.port), f"/{handler}"]
    done = subprocess.run([*command, str(rate), str(seconds)], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise LoadError(f"at {rate:.0f} requests a second: {done.stderr.strip()[-500:]}")
    return FixedRate(**json.loads(done.stdout))


class _Steal:
    """Time that the host took, by core, since this was made."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._first = self._read()

    def share(self) -> float:
        """The largest share of one core."""
        elapsed = time.monotonic() - self._began
        return max((now - then) / elapsed for now, then in zip(self._read(), self._first, strict=True))

    def _read(self) -> list[float]:
        return [each.steal for each in psutil.cpu_times(percpu=True)]
