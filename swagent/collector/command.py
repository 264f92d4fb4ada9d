"""`swagent collector`: listens, prints traces as they arrive, and totals when it is told to stop."""

from __future__ import annotations

import argparse
import asyncio
import importlib
import io
import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .live import LivePrinter
    from .server import Collector

_MISSING = "swagent collector: {} is missing; install it with: pip install 'swagent[collector]'"
_POINTER = """\
swagent collector: listening on {address}
Point an agent at it:
  SW_AGENT_COLLECTOR_BACKEND_SERVICES={address}{token}
Stop with Ctrl-C.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options to a parser."""
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument("--port", default=11800, type=_port, help="0 takes a free one (default: %(default)s)")
    parser.add_argument("--token", default="", help="refuse agents without this SW_AGENT_AUTHENTICATION")
    parser.add_argument("--quiet", action="store_true", help="print only the totals, no traces")


def run(args: argparse.Namespace) -> int:
    """Run the collector until Ctrl-C or SIGTERM. Call it from the main thread, with no event loop running.

    :returns: the exit status: 0 after it was told to stop, 1 when it could not start
    """
    try:
        importlib.import_module(".server", __package__)  # heavy, and its needs are an extra
    except ImportError as error:
        if (error.name or "").startswith("swagent"):
            raise
        print(_MISSING.format(error.name), file=sys.stderr)
        return 1
    stdout: Any = sys.stdout
    if isinstance(stdout, io.TextIOWrapper):
        stdout.reconfigure(errors="replace")  # a terminal without box-drawing characters shows "?"
    try:
        return asyncio.run(_serve(args))
    except KeyboardInterrupt:  # where the loop takes no signal handlers
        return 0
    except BrokenPipeError:  # `swagent collector | head`: let the interpreter's last flush succeed
        os.dup2(os.open(os.devnull, os.O_WRONLY), stdout.fileno())
        return 0


async def _serve(args: argparse.Namespace) -> int:
    from .live import LivePrinter  # noqa: PLC0415, RUF100
    from .server import Collector  # noqa: PLC0415, RUF100
    from .view import Palette  # noqa: PLC0415, RUF100

    collector = Collector(args.host, args.port, args.token)
    stopping = _stop_signal()
    try:
        await collector.start()
    except OSError as error:
        print(
            f"swagent collector: cannot listen on {collector.address}: {error.strerror or error}\n"
            "Stop what uses the port, or choose another with --port.",
            file=sys.stderr,
        )
        return 1
    colours = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    printer = None if args.quiet else LivePrinter(collector.store, sys.stdout, Palette(colours))
    try:
        token = " SW_AGENT_AUTHENTICATION=<token>" if args.token else ""
        print(_POINTER.format(address=collector.address, token=token), flush=True)
        await _watch(printer, stopping)
    finally:
        await collector.stop()
        _conclude(collector, printer)
    return 0


def _stop_signal() -> asyncio.Event:
    stopping = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError):  # Windows: Ctrl-C raises KeyboardInterrupt instead
            asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    return stopping


async def _watch(printer: LivePrinter | None, stopping: asyncio.Event) -> None:
    """Print until the signal comes, or until printing fails."""
    tasks: list[asyncio.Task[Any]] = [asyncio.create_task(stopping.wait())]
    if printer is not None:
        tasks.append(asyncio.create_task(printer.run()))
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


def _conclude(collector: Collector, printer: LivePrinter | None) -> None:
    if printer is not None:
        printer.finish()
    print(f"swagent collector: received {collector.store.statistics()}", flush=True)


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= 65535:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 65535")
    return port
