"""`swagent detach PID`: what `swagent attach` has brought into a process, out of it again."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from .remote_execution import RemoteError, have_done

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command line."""
    parser.add_argument("pid", type=int, help="the process to which the agent is attached")


def run(args: argparse.Namespace) -> int:
    """Detach; the exit status."""
    try:
        said = have_done(args.pid, {"do": "detach", "seconds": None})
    except RemoteError as error:
        print(f"swagent detach: {error}", file=sys.stderr)
        return 1
    print(f"detached from {args.pid}: {said['sent']} segments were delivered, {said['lost']} were not")
    return 0
