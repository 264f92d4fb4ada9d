"""Runs random cases by one implementation, and writes what came of them to its output.

    python -m native.worker --loop asyncio --seed 7 --count 1000

`native.comparison` starts two of it, with a clock that does not move by itself.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, BinaryIO

# before any id is drawn: each look gives other bytes, and a forked child goes on from those of its parent
_drawn = itertools.count(1)
os.urandom = lambda size: (next(_drawn) * 0x9E3779B97F4A7C15 % (1 << 8 * size)).to_bytes(size, "big")

from native import draws  # noqa: E402
from native.application import Life, serve, shape  # noqa: E402
from native.frozen_clock import find_advance  # noqa: E402
from native.hosts import Host, Work, run_block  # noqa: E402
from native.observations import Frame, write  # noqa: E402
from native.recorder import Recorder  # noqa: E402
from swagent import acceleration  # noqa: E402
from swagent.asgi import SkyWalkingMiddleware  # noqa: E402
from swagent.wsgi import SkyWalkingMiddleware as WsgiMiddleware  # noqa: E402

BLOCK = 40
_PLAIN = 0.6
_BLOCKS_OF_AN_AGENT = 20


class Worker:
    """One process's cases, and the agents that record them."""

    def __init__(self, loop: str, seed: int, output: BinaryIO) -> None:
        self._loop, self._seed, self._output = loop, seed, output
        self._advance = find_advance()

    def run(self, count: int) -> None:
        """Run so many cases.

        :param count: is rounded up to whole blocks
        """
        blocks = range(-(-count // BLOCK))
        for first in blocks[::_BLOCKS_OF_AN_AGENT]:
            self._run_agent(blocks[first : first + _BLOCKS_OF_AN_AGENT])
        write(self._output, Frame("e", acceleration.describe()))

    def _run_agent(self, blocks: range) -> None:
        dice = Random(f"{self._seed} agent {blocks[0]}")
        codec, settings = dice.choice(["protobuf", "protobuf", "json"]), draws.settings(dice)
        recorder = Recorder(codec, **settings)
        self._begin_block(blocks[0], f"{codec} {settings}")
        recorder.begin()
        middlewares: list[SkyWalkingMiddleware] = []
        for block in blocks:
            self._run_block(block, recorder, middlewares)
            if dice.random() < 0.1:
                self._fork(block, recorder)
        recorder.end()
        self._look(recorder)
        self._see(f"faults {[each.faults.count for each in middlewares]}")

    def _begin_block(self, block: int, note: str) -> None:
        write(self._output, Frame("b", f"block {block}, cases from {block * BLOCK} on: {note}"))

    def _run_block(self, block: int, recorder: Recorder, middlewares: list[SkyWalkingMiddleware]) -> None:
        self._begin_block(block, "")
        dice = Random(f"{self._seed} block {block}")

        def begin(host: Any) -> list[Work]:
            return [self._connection(numbers, host, recorder, middlewares) for numbers in _connections(block, dice)]

        run_block(self._loop, dice, begin)
        # garbage goes at the same moment in both
        gc.collect()
        self._look(recorder)

    def _look(self, recorder: Recorder) -> None:
        for kind, data in recorder.drain():
            write(self._output, Frame(kind, "", data))
        write(self._output, Frame("t", recorder.ledger()))

    def _see(self, note: str) -> None:
        write(self._output, Frame("o", note))

    def _connection(
        self, numbers: list[int], host: Host, recorder: Recorder, middlewares: list[SkyWalkingMiddleware]
    ) -> Work:
        """Several requests one after the other in one context, as a server keeps one for a connection."""

        async def work() -> None:
            for number in numbers:
                dice = Random(f"{self._seed} case {number}")
                see: Callable[[str], None] = lambda note, number=number: self._see(f"{number}: {note}")  # type: ignore[misc]  # noqa: E731
                life = Life(host, dice, see, self._advance, is_plain=dice.random() < _PLAIN)
                kind = 0 if life.is_plain else dice.randrange(20)
                if kind < 17:
                    await self._serve(host, life, dice, see, recorder, middlewares)
                elif kind == 17:
                    self._serve_wsgi(life, dice, see, recorder)
                else:
                    await _try(life.act, see)

        return work

    async def _serve(
        self,
        host: Host,
        life: Life,
        dice: Random,
        see: Callable[[str], None],
        recorder: Recorder,
        middlewares: list[SkyWalkingMiddleware],
    ) -> None:
        scope, count = draws.plain_scope(dice) if life.is_plain else draws.scope(dice), len(middlewares)
        see(f"{dict(scope)}")

        async def app(scope: Any, receive: Any, send: Any) -> None:
            await serve(life, scope, dice, receive, send)

        if count < 3 or dice.random() < 0.02:
            middlewares.append(SkyWalkingMiddleware(_by_scope, agent=recorder.agent))
        middleware = dice.choice(middlewares)
        scope["native.app"] = app if life.is_plain else shape(dice, app)
        if not life.is_plain and dice.random() < 0.03:
            middleware = SkyWalkingMiddleware(middleware, agent=recorder.agent)

        async def receive() -> Any:
            await host.pause()
            return {"type": f"{scope['type']}.disconnect" if dice.random() < 0.2 else f"{scope['type']}.request"}

        fails = not life.is_plain and dice.random() < 0.04

        async def send(message: Any) -> None:
            if dice.random() < 0.3:
                await host.pause()
            see(f"sent {message!r}")
            if fails:
                raise ConnectionResetError("gone")

        await _try(lambda: middleware(scope, receive, _sending(dice, send)), see)

    def _serve_wsgi(self, life: Life, dice: Random, see: Callable[[str], None], recorder: Recorder) -> None:
        def app(environ: Any, start_response: Any) -> Any:
            life.act_at_once()
            start_response(dice.choice(["200 OK", "404 Not Found", "500 Oh"]), [])
            if dice.random() < 0.2:
                raise ValueError("below")
            return [b"x"] if dice.random() < 0.5 else (piece for piece in (b"x", b"y"))

        environ: dict[str, Any] = draws.environ(dice)
        try:
            body = WsgiMiddleware(app, agent=recorder.agent)(environ, lambda *args: _write_nowhere(see, args))
            see(f"sent {[*body]}")
            if hasattr(body, "close"):
                body.close()
        except Exception as error:
            see(f"ended by {type(error).__name__}")

    def _fork(self, block: int, recorder: Recorder) -> None:
        """A child with an agent of its own runs a block, and what comes of it goes to the same output."""
        self._output.flush()
        child = os.fork()
        if child:
            _, status = os.waitpid(child, 0)
            self._see(f"the child ended with {status}")
            return
        status = 1
        try:
            recorder.leave_to_parent()
            own = Recorder("protobuf", service="shop", instance="shop-2", loop_block_limit=0, **_SEGMENTS_AND_LOGS)
            own.begin()
            self._seed += 1
            self._run_block(block, own, [])
            own.end()
            self._look(own)
            self._output.flush()
            status = 0
        finally:
            os._exit(status)


_SEGMENTS_AND_LOGS: dict[str, Any] = {
    "time_split_every": 1, "meter_reporter_active": False, "event_reporter_active": False, "profile_active": False,
}  # fmt: skip


async def _by_scope(scope: Any, receive: Any, send: Any) -> None:
    await scope["native.app"](scope, receive, send)


def _write_nowhere(see: Callable[[str], None], started: Any) -> Callable[[bytes], object]:
    see(f"started {started}")
    return lambda data: see(f"wrote {data!r}")


def _sending(dice: Random, send: Any) -> Any:
    """The server's `send` in one of the forms that servers have."""
    kind = dice.randrange(10)
    if kind < 7:
        return send
    if kind < 9:

        class Sender:
            async def __call__(self, message: Any) -> None:
                await send(message)

        return Sender()
    return lambda message: send(message)


async def _try(call: Callable[[], Any], see: Callable[[str], None]) -> None:
    try:
        await call()
    except BaseException as error:
        # a loop's own cancellation has to reach it, and trio's names a task by its address
        if type(error).__name__ in ("CancelledError", "Cancelled"):
            see("cancelled")
            raise
        see(f"ended by {type(error).__name__}: {error}")
        # as servers do
        logging.getLogger("server").error("in an application", exc_info=error)


def _connections(block: int, dice: Random) -> Iterator[list[int]]:
    numbers = list(range(block * BLOCK, (block + 1) * BLOCK))
    while numbers:
        length = dice.choice([1, 1, 2, 4])
        yield numbers[:length]
        del numbers[:length]


class _Seen(logging.Handler):
    """The agent's own lines are seen as well."""

    def __init__(self, see: Callable[[str], None]) -> None:
        super().__init__()
        self._write = see

    def emit(self, record: logging.LogRecord) -> None:
        self._write(f"agent: {record.getMessage()}")


def main() -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--loop", default="asyncio", choices=["asyncio", "uvloop", "trio"])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1000)
    options = parser.parse_args()
    output = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    threading.excepthook = lambda args: write(output, Frame("o", f"a thread failed: {args.exc_value!r}"))
    gc.disable()
    logging.raiseExceptions = False
    logging.getLogger().addHandler(logging.NullHandler())
    logging.getLogger().setLevel(logging.DEBUG)
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    worker = Worker(options.loop, options.seed, output)
    logging.getLogger("swagent").addHandler(_Seen(worker._see))
    worker.run(options.count)
    output.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
