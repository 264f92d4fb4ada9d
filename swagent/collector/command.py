"""`swagent collector`: listens, serves its page, prints traces as they arrive, and totals when it is stopped."""

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

from .store.limits import Limits

if TYPE_CHECKING:
    from .live import LivePrinter
    from .server import Collector
    from .store.store import Store

_MISSING = "swagent collector: {} is missing; install it with: pip install 'swagent[collector]'"
_MCP_MISSING = "swagent collector: {} is missing; install it with: pip install 'swagent[collector,mcp]'"
_KAFKA_MISSING = "swagent collector: {} is missing; install it with: pip install 'swagent[collector,kafka]'"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options to a parser."""
    add = parser.add_argument
    add("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    add("--port", default=11800, type=_port, help="of gRPC; 0 takes a free one (default: %(default)s)")
    add("--http-port", default=12800, type=_port, help="of the HTTP intake (default: %(default)s)")
    add("--page-port", default=12880, type=_port, help="of the page in the browser (default: %(default)s)")
    add("--no-page", action="store_true", help="serve no page")
    add("--kafka", default="", metavar="HOST:PORT", help="read from these brokers too; several with commas")
    add("--kafka-namespace", default="", metavar="NAME", help="the prefix of the names of the topics")
    add("--store", default="", metavar="FILE", help="keep what arrives in this SQLite file (default: in memory)")
    add("--max-segments", default=50_000, type=_count, help="how many are kept (default: %(default)s)")
    add("--max-logs", default=50_000, type=_count, help="how many are kept (default: %(default)s)")
    add("--max-points", default=200_000, type=_count, help="how many values of meters are kept (default: %(default)s)")
    add("--max-age", type=_seconds, metavar="SECONDS", help="how long all is kept (default: while there is room)")
    add("--token", default="", help="refuse gRPC agents without this SW_AGENT_AUTHENTICATION")
    add(
        "--mcp",
        action="store_true",
        help="answer an editor by the Model Context Protocol, at stdin and stdout; asks a collector that runs already",
    )
    add("--quiet", action="store_true", help="print only the totals, no traces")


def run(args: argparse.Namespace) -> int:
    """Run the collector until Ctrl-C or SIGTERM. Call it from the main thread, with no event loop running.

    :returns: the exit status: 0 after it was stopped, 1 when it could not start
    """
    try:
        importlib.import_module(".server", __package__)  # heavy, and its needs are an extra
    except ImportError as error:
        if (error.name or "").startswith("swagent"):
            raise
        print(_MISSING.format(error.name), file=sys.stderr)
        return 1
    if args.mcp:
        return _run_mcp(args)
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


def _run_mcp(args: argparse.Namespace) -> int:
    """Run the collector for an editor. Nothing but the protocol goes to stdout."""
    try:
        command = importlib.import_module(".mcp.command", __package__)
    except ImportError as error:
        if (error.name or "").startswith("swagent"):
            raise
        print(_MCP_MISSING.format((error.name or "mcp").partition(".")[0]), file=sys.stderr)
        return 1
    from .store.database import StoreError  # noqa: PLC0415, RUF100
    from .store.store import Store  # noqa: PLC0415, RUF100

    async def serve() -> int:
        page = f"[{args.host}]:{args.page_port}" if ":" in args.host else f"{args.host}:{args.page_port}"
        make = lambda: _collector(args, Store(path=args.store, limits=_limits(args)))  # noqa: E731
        status: int = await command.serve(make, page, _stop_signal())
        return status

    try:
        return asyncio.run(serve())
    except (OSError, ImportError, StoreError) as error:
        print(_failure(args, error), file=sys.stderr)
        return 1


async def _serve(args: argparse.Namespace) -> int:
    from .live import LivePrinter  # noqa: PLC0415, RUF100
    from .store.database import StoreError  # noqa: PLC0415, RUF100
    from .store.store import Store  # noqa: PLC0415, RUF100
    from .view import Palette  # noqa: PLC0415, RUF100

    try:
        store = Store(path=args.store, limits=_limits(args))
    except StoreError as error:
        print(f"swagent collector: {error}", file=sys.stderr)
        return 1
    stopping = _stop_signal()
    try:
        collector = _collector(args, store)
        await collector.start()
    except (OSError, ImportError, StoreError) as error:
        print(_failure(args, error), file=sys.stderr)
        store.close()
        return 1
    colours = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    printer = None if args.quiet else LivePrinter(collector.store, sys.stdout, Palette(colours))
    try:
        print(_introduction(collector, args), flush=True)
        await _watch(printer, stopping)
    finally:
        await collector.stop()
        status = _conclude(collector, printer)
    return status


def _collector(args: argparse.Namespace, store: Store) -> Collector:
    from .server import Collector  # noqa: PLC0415, RUF100

    return Collector(
        args.host,
        args.port,
        args.token,
        store,
        http_port=args.http_port,
        page_port=None if args.no_page else args.page_port,
        kafka=args.kafka,
        kafka_namespace=args.kafka_namespace,
    )


def _limits(args: argparse.Namespace) -> Limits:
    return Limits(args.max_segments, args.max_logs, args.max_points, max_age=args.max_age)


def _failure(args: argparse.Namespace, error: Exception) -> str:
    if isinstance(error, ImportError):
        return _KAFKA_MISSING.format(error.name)
    if not isinstance(error, OSError) or error.errno is None:
        return f"swagent collector: {error}"
    where = error.filename or f"{args.host}:{args.port}"
    return (
        f"swagent collector: cannot listen on {where}: {error.strerror or error}\n"
        "Stop what uses the port, or choose another with --port, --http-port or --page-port."
    )


def _introduction(collector: Collector, args: argparse.Namespace) -> str:
    token = " SW_AGENT_AUTHENTICATION=<token>" if args.token else ""
    limits = collector.store.limits
    age = f", for {limits.max_age:g} s" if limits.max_age else ""
    where = f"in {args.store}" if args.store else "in memory, until it is stopped"
    page = [f"Open the page:\n  http://{collector.page_address}/"] if collector.page_address else []
    kafka = [f"  SW_AGENT_PROTOCOL=kafka SW_KAFKA_BOOTSTRAP_SERVERS={args.kafka}"] if args.kafka else []
    lines = [
        f"swagent collector: listening on {collector.address}",
        *page,
        "Point an agent at it:",
        f"  SW_AGENT_COLLECTOR_BACKEND_SERVICES={collector.address}{token}",
        f"  SW_AGENT_COLLECTOR_BACKEND_SERVICES={collector.http_address} SW_AGENT_PROTOCOL=http",
        *kafka,
        f"Keeps the newest {limits.segments:,} segments {where}{age}.",
        "Stop with Ctrl-C.",
        "",
    ]
    return "\n".join(lines)


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


def _conclude(collector: Collector, printer: LivePrinter | None) -> int:
    from .store.database import StoreError  # noqa: PLC0415, RUF100

    if printer is not None:
        printer.finish()
    status = 0
    try:
        collector.store.commit()
    except StoreError as error:  # it was not confirmed to any agent
        print(f"swagent collector: {error}", file=sys.stderr)
        status = 1
    print(f"swagent collector: received {collector.store.statistics()}", flush=True)
    collector.store.close()
    return status


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= 65535:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 65535")
    return port


def _count(text: str) -> int:
    count = int(text)
    if count < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return count


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is no number of seconds above 0")
    return seconds
