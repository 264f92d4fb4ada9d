"""How an application ended, and what must hold of every orderly end."""

from __future__ import annotations

import re
import signal
import time
from collections import Counter
from dataclasses import dataclass

from faults.processes.apps import App
from faults.processes.clients import Clients
from kit.sinks import Reports, Sink

# an orderly end, on a busy machine too, and less than an agent takes that waits for its timeout (`stage.TIMEOUT`)
STOP = 15.0
# for a consumer that reads what the broker has acknowledged
READING = 5.0


@dataclass
class Ended:
    """One application that has ended.

    :ivar answered: the traces of the answered requests
    :ivar seconds: from the signal to the end of its last process
    """

    answered: set[str]
    seconds: float
    output: str
    reports: Reports

    def check(self) -> None:
        """All that was answered arrived, once and whole, and the agent said nothing."""
        missing = self.answered - self.reports.traces
        assert not missing, f"{len(missing)} of {len(self.answered)} are missing: {self.output}"
        assert not logged_as_lost(self.output), self.output
        self.check_records()

    def check_records(self) -> None:
        """Nothing arrived twice, and no part of a trace alone."""
        assert not self.reports.repeated
        assert_nothing_of_ours(self.output)
        assert {len(segment.spans) for segment in self.reports.segments} <= {1, 2}


async def end(app: App, clients: Clients, sink: Sink) -> Ended:
    """Let it end as a service manager does, and wait until its last process is gone and what it reported is read."""
    began = time.monotonic()
    app.send(signal.SIGTERM)
    await app.ended()
    seconds = time.monotonic() - began
    return await ended(app, clients, sink, seconds)


async def ended(app: App, clients: Clients, sink: Sink, seconds: float, patience: float = READING) -> Ended:
    """How it ended.

    :param patience: seconds to wait for what is missing
    """
    await clients.stop()
    answered = set(clients.answered)
    reports = sink.of(app.service)
    await sink.wait_for(lambda: answered <= reports.traces, patience)
    return Ended(answered, seconds, app.output, reports)


def assert_nothing_of_ours(output: str) -> None:
    """Where a server cuts a request off, the middleware shows in that traceback, since it is in the stack."""
    places = [line.partition("/swagent/")[2] for line in output.splitlines() if "/swagent/" in line]
    # by the second one the first request comes, and the clock is there where the time of a request is split
    middleware = ("__call__", "_pass_on")
    assert all(
        (place.startswith("asgi/middleware.py") and place.endswith(middleware))
        or place.startswith("profile/timed_steps.py")
        for place in places
    ), output


def logged_as_lost(output: str) -> Counter[str]:
    """The segments that the agents said they could not deliver, by reason; a warning, so that it shows everywhere."""
    ledgers = re.findall(r"swagent stopped for .*?: segment: (.*)", output)
    counts: Counter[str] = Counter()
    for ledger in ledgers:
        for count, reason in re.findall(r"(?:refused|dropped) (\d+) \((\w+)\)", ledger.partition(";")[0]):
            counts[reason] += int(count)
    return counts
