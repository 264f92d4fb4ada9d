"""A collector that is full of made-up records."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kit.loop_thread import LoopThread
from page import profiled
from page.made_up import SERVICES, Trace, instance_name, make_deep_trace, make_trace, meters_of, properties_of
from swagent.cli.collector_page import CollectorPage
from swagent.collector.server import Collector
from swagent.collector.store.records import Event, Properties
from swagent.collector.store.store import Store
from swagent.collector.store.trace_records import Segment

SPREAD_MS = 30 * 60_000
DEEP = "deep"
"""The trace of very many spans."""
_DEEP_SPANS = 2000
_HOUR_MS = 3_600_000


class StandIn:
    """Its records change by its methods, from any thread."""

    def __init__(self, thread: LoopThread, traces: int, *, is_lasting: bool = False) -> None:
        """:param is_lasting: what lives is alive for the next hour, and there is a trace of very many spans"""
        self._now = now = int(time.time() * 1000)
        self.started = now - SPREAD_MS
        self.store = Store(clock=lambda: self._now / 1000)
        self._thread = thread
        self.collector = Collector(store=self.store, page_port=0)
        self._traces = 0
        self._orders: list[Segment] = []
        for number in range(traces - is_lasting):
            self._take(make_trace(number, int(self.started + number * SPREAD_MS / traces)))
        if is_lasting:
            self._take(make_deep_trace(DEEP, self.started, _DEEP_SPANS))
        if traces:
            self._report(now)
            self._profile(now)
        self._now = now + _HOUR_MS if is_lasting else now
        for service in SERVICES if traces else ():
            for number in range(2):
                if (service, number) != ("mailer", 1):  # which is silent
                    self._introduce(service, number)
        self.start()

    @property
    def url(self) -> str:
        return f"http://{self.collector.page_address}"

    def start(self) -> None:
        """Listen, where it listened before."""
        self._thread.run(self.collector.start)

    def stop(self) -> None:
        """Connections close, and the address does not answer."""
        self._thread.run(self.collector.stop)

    def ask(self, path: str, **query: object) -> Any:
        """The answer to a path below `/api`; `from_` is the parameter `from`."""
        sent = {key.rstrip("_"): value for key, value in query.items()}
        return CollectorPage(self.url).get(*path.split("/"), query=sent)

    def add_traces(self, count: int) -> None:
        """New traces arrive now."""
        now = int(time.time() * 1000)
        for _ in range(count):
            self._take(make_trace(self._traces, now))

    def take_profile(self, task: str) -> None:
        """An agent takes a task, and follows two requests."""
        profiled.take(self.store, task, self._orders[:2])

    def _take(self, trace: Trace) -> None:
        self._traces += 1
        for segment in trace.segments:
            self.store.add(segment)
            if any(each.operation == profiled.ENDPOINT and each.kind == "Entry" for each in segment.spans):
                self._orders = [*self._orders[-4:], segment]
        for line in trace.logs:
            self.store.add(line)

    def _introduce(self, service: str, number: int) -> None:
        self.store.add(Properties(service, instance_name(service, number), properties_of(service, number), "GENERAL"))

    def _report(self, now: int) -> None:
        self._now = now - 340_000
        self._introduce("mailer", 1)
        for service in SERVICES:
            self._tell(service, "Start", "the process started", self.started, self.started + 900)
            for number in range(2):
                for meter in meters_of(service, number, range(self.started, now, 20_000)):
                    self.store.add(meter)
        self._tell("mailer", "MailRefused", "421 too many connections", self.started + 600_000, 0, "Error")
        held = {"duration": "312", "frame": "mailer.render:41", "count": "1"}
        text = "The event loop did not turn for 312 ms: mailer.render:41"
        self._tell("mailer", "loop_blocked", text, now - 300_000, now - 299_688, **held)

    def _tell(
        self, service: str, name: str, text: str, begin: int, end: int, kind: str = "Normal", **more: str
    ) -> None:
        source = service, instance_name(service, 0)
        self.store.add(Event(f"{name} of {service}", *source, "", name, kind, text, more, begin, end, "GENERAL"))

    def _profile(self, now: int) -> None:
        """A profile of five orders, and tasks that have come less far; agents ask for them."""
        profiled.order(self.store, "missed", now - 1_000_000, "mailer")
        self._now = now - 6_000
        for service in ("shop", "stock", "mailer"):
            self.store.assign_profiles(service, f"{service}-1", now)
        profiled.order(self.store, "profiled", now - 8_000)
        profiled.take(self.store, "profiled", self._orders, is_over=True)
        profiled.order(self.store, "waits", now + _HOUR_MS, "stock", "GET:/stock/{item}")


@contextmanager
def serving(traces: int, *, is_lasting: bool = False) -> Iterator[StandIn]:
    """A stand-in that serves inside the block."""
    with LoopThread() as thread:
        stand_in = StandIn(thread, traces, is_lasting=is_lasting)
        try:
            yield stand_in
        finally:
            stand_in.stop()
            stand_in.store.close()
