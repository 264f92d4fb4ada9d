"""`python -m stress pressure`: what is kept of three services' traces when they record five times too much."""

from __future__ import annotations

import argparse
import contextlib
import json
from typing import Any

from kit.real.ports import HOST, free_ports
from stress.machine import describe_machine
from stress.pipeline.process import OTHERS, SENDER, Conversation, conversing

from .figures import Run, render
from .traces import SERVICES

_TAKES = 300.0
"""Records a second that the collector takes of each service."""
_TIMES = 5
_CHOICES = {"both": (True, False), "on": (True,), "off": (False,)}


def main(arguments: list[str]) -> int:
    """Run it.

    :returns: 0 when what matters was kept, and whole traces of the rest
    """
    parser = argparse.ArgumentParser(prog="python -m stress pressure", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0, help="how long the load lasts")
    parser.add_argument(
        "--shedding", choices=_CHOICES, default="both", help="with it, without it, or one after the other"
    )
    given = parser.parse_args(arguments)
    runs = [run(sheds, given.minutes * 60) for sheds in _CHOICES[given.shedding]]
    print(render(runs), describe_machine(), *(fault for each in runs for fault in each.faults), sep="\n\n")
    return 1 if any(each.faults for each in runs) else 0


def run(sheds: bool, seconds: float) -> Run:
    """One run."""
    port = free_ports(1)[0]
    with conversing("stress.pressure.sink", str(port), str(_TAKES), core=OTHERS) as sink:
        sink.hear()
        with contextlib.ExitStack() as stack:
            given = f"{HOST}:{port}", "on" if sheds else "off", str(_TIMES * _TAKES), str(seconds)
            services = [
                stack.enter_context(conversing("stress.pressure.service", str(number), *given, core=SENDER))
                for number in range(SERVICES)
            ]
            answers = _serve(services, sink)
        taken: dict[str, list[int]] = json.loads(sink.end())
    return Run(sheds, seconds, answers, [frozenset(taken[str(number)]) for number in range(SERVICES)])


def _serve(services: list[Conversation], sink: Conversation) -> list[dict[str, Any]]:
    for service in services:
        service.hear()
    for service in services:
        service.say("go")
    answers = [json.loads(service.hear()) for service in services]
    sink.say("take all at once")
    for service in services:
        service.say("flush")
    return [{**answer, **json.loads(service.hear())} for answer, service in zip(answers, services, strict=True)]
