"""`swagent profile`: where the requests of one endpoint spend their time, asked of a running `swagent collector`.

Exit status: 0 a profile was shown, 1 there is none, 2 the command line is wrong, 130 it was interrupted, after it has
shown what there was by then.
"""

from __future__ import annotations

import argparse
import difflib
import signal
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

from .collector_page import Answer, CollectorError, CollectorPage
from .profile_tree import render_profile

PAGE = "http://127.0.0.1:12880"
_POLL = 0.5
# Polls without anything new after the end: the last stacks are on their way for a moment.
_SETTLED = 4
_INTERRUPTED = 128 + signal.SIGINT
_SHOWN_NAMES = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command line."""
    add = parser.add_argument
    add("--service", required=True, help="the service whose requests are profiled")
    add("--endpoint", required=True, help="the endpoint, as the page shows it, such as GET:/orders/{item}")
    add("--seconds", default=60, type=_within(1, 900), help="for which requests are followed (default: %(default)s)")
    add("--period", default=10, type=_within(10, 60_000), metavar="MS",
        help="milliseconds between two looks (default: %(default)s)")  # fmt: skip
    add(
        "--samples", default=5, type=_within(1, 9), help="how many requests each process follows (default: %(default)s)"
    )
    add("--min-duration", default=0, type=_within(0, 900_000), metavar="MS",
        help="follow a request once it has taken so long (default: %(default)s)")  # fmt: skip
    add("--collector", default=PAGE, metavar="URL", help="of the collector's page (default: %(default)s)")
    add("--all", action="store_true", help="show each call, those of libraries and the shortest too")


def run(args: argparse.Namespace) -> int:
    """Make the task, wait for its end, and show what came of it; returns the exit status."""
    try:
        page = CollectorPage(args.collector)
        _check_names(page, args.service, args.endpoint)
        task = _order(page, args)
        _say(f"{args.service} is asked to profile {args.endpoint}. See it on the page: {page.url}/#/profiles/{task}")
        return _follow(page, task, args)
    except CollectorError as error:
        _say(f"swagent profile: {error}")
        return 1


def _check_names(page: CollectorPage, service: str, endpoint: str) -> None:
    """:raises CollectorError: when nothing has been heard of them"""
    services = [each["name"] for each in page.get("services")["services"]]
    if service not in services:
        raise CollectorError(f"no service {service!r} has reported. {_guess(service, services)}")
    endpoints = [each["name"] for each in page.get("services", service, "endpoints")["endpoints"]]
    if endpoint not in endpoints:
        raise CollectorError(f"{service} has served no request of {endpoint!r}. {_guess(endpoint, endpoints)}")


def _guess(name: str, known: Iterable[str]) -> str:
    names = {each.lower(): each for each in known}
    close = difflib.get_close_matches(name.lower(), names, n=1) or [each for each in names if name.lower() in each]
    if close:
        return f"Did you mean {names[close[0]]!r}?"
    shown = [*names.values()][:_SHOWN_NAMES]
    return f"These have: {', '.join(shown)}" if shown else "Nothing has: send it a request first."


def _order(page: CollectorPage, args: argparse.Namespace) -> str:
    """Make the task; gives its id."""
    order = {
        "service": args.service, "endpoint": args.endpoint, "seconds": args.seconds, "period_ms": args.period,
        "samples": args.samples, "min_ms": args.min_duration,
    }  # fmt: skip
    return str(page.post("profiles", body=order)["id"])


def _follow(page: CollectorPage, task: str, args: argparse.Namespace) -> int:
    try:
        found = _wait(page, task)
    except KeyboardInterrupt:
        _say("Interrupted. This is what there is:")
        _show(page.get("profiles", task), args.all)
        return _INTERRUPTED
    return _show(found, args.all)


def _wait(page: CollectorPage, task: str) -> Answer:
    """The answer when the task is over and no more data comes."""
    said, quiet, seen = "", 0, -1
    while True:
        found = page.get("profiles", task)
        text = _progress(found)
        count = sum(each["snapshots"] for each in found["segments"])
        is_over = found["state"] not in ("waiting", "running")
        quiet = quiet + 1 if is_over and count == seen else 0
        is_settled = found["state"] == "missed" or quiet >= _SETTLED
        # how many requests were followed is known when their stacks have come, and not when the task is over
        if text != said and (is_settled or not is_over):
            _say(text)
            said = text
        if is_settled:
            return found
        seen = count
        time.sleep(_POLL)


def _progress(found: Answer) -> str:
    """How far it is, in a sentence."""
    requests = len(found["segments"])
    if found["state"] == "waiting":
        if found["asking"]:
            return "Waiting until an agent asks. They ask every 20 seconds, under `swagent run` every 2."
        return "Waiting. No agent of this service has asked yet; they do so over gRPC only."
    if found["state"] == "missed":
        return "No agent has asked in time. Agents ask over gRPC only, and with SW_AGENT_PROFILE_ACTIVE."
    taken = f"{len(found['taken'])} processes have" if len(found["taken"]) > 1 else "1 process has"
    have = f"{requests} requests have" if requests != 1 else "1 request has"
    if found["state"] == "running":
        return f"{taken} taken it: send requests. {have} been followed."
    return f"Over. {have} been followed."


def _show(found: Answer, everything: bool) -> int:
    """Print the tree; returns the exit status."""
    if not found["nodes"]:
        if found["state"] != "missed":
            _say("No stacks have come: was there a request meanwhile, and did it take longer than a period?")
        return 1
    print(render_profile(found["nodes"], everything=everything))
    return 0


def _say(text: str) -> None:
    """Beside the profile, which is all that standard output gets."""
    print(text, file=sys.stderr, flush=True)


def _within(least: int, most: int) -> Callable[[str], int]:
    def parse(text: str) -> Any:
        number = int(text)
        if not least <= number <= most:
            raise argparse.ArgumentTypeError(f"{text} is not between {least} and {most}")
        return number

    parse.__name__ = "whole number"  # the name that argparse shows
    return parse
