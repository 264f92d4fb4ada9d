"""`swagent attach PID`: the agent into a process that serves already."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING

from ..startup.settings import settings_of
from .remote_execution import RemoteError, have_done

if TYPE_CHECKING:
    import argparse

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}
_TIME = re.compile(r"(\d+(?:\.\d+)?)([smh]?)")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command line."""
    parser.add_argument("pid", type=int, help="the process that serves; its workers, where it has some")
    parser.add_argument(
        "--for", dest="seconds", type=seconds, metavar="TIME", help="detach after this time by itself: 90s, 5m, 1h"
    )


def run(args: argparse.Namespace) -> int:
    """Attach; the exit status."""
    order = {"do": "attach", "settings": settings_of(os.environ), "seconds": args.seconds}
    try:
        said = have_done(args.pid, order)
    except RemoteError as error:
        print(f"swagent attach: {error}", file=sys.stderr)
        return 1
    print(
        f"attached to {args.pid}: service {said['service']!r} reports to {said['addresses']} over {said['protocol']}; "
        f"recorded: {', '.join(said['recorded']) or 'no libraries'}"
    )
    return 0


def seconds(text: str) -> float:
    """A time of the command line, in seconds.

    :raises ValueError: when it is none
    """
    match = _TIME.fullmatch(text)
    if match is None or not float(match[1]):
        raise ValueError(text)
    return float(match[1]) * _UNITS[match[2]]
