"""A server for a person: says where it is, stays until Ctrl-C."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from typing import TypeVar

from kit.real.jars import FetchError, UnavailableError
from kit.real.server import JavaServer, ServerError

ServerT = TypeVar("ServerT", bound=JavaServer)


def run(make: Callable[[], ServerT], describe: Callable[[ServerT], str]) -> None:
    """Start what `make` gives and hold it; exits non-zero with one message when the server cannot run."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a polite `kill` cleans up as Ctrl-C does
    try:
        print("starting; the first time Maven fetches the jars, one or two minutes", flush=True)
        with make() as server:
            print(f"{describe(server)}\nlog: {server.log}\nCtrl-C ends it", flush=True)
            sys.exit(server.wait())
    except KeyboardInterrupt:
        print("stopped")
    except (UnavailableError, FetchError, ServerError) as exc:
        sys.exit(str(exc))
