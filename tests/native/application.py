"""The application of the cases: each request draws what it does, from its own dice, and says what it saw."""

from __future__ import annotations

import logging
import threading
from collections.abc import Awaitable, Callable
from contextvars import copy_context
from random import Random
from typing import Any

from native import draws
from native.hosts import Host
from swagent import (
    capture,
    current_span,
    current_trace_id,
    database_span,
    entry_span,
    exit_span,
    get_correlation,
    local_span,
    put_correlation,
    trace,
)
from swagent.instrument.call import begin_call, end_call
from swagent.instrument.libraries.sql.sql_call import begin_query, database_at
from swagent.record.trace.model import Component, Layer

See = Callable[[str], None]
_LOGGERS = [logging.getLogger(name) for name in ("shop", "shop.orders", "склад")]
_LEVELS = [logging.INFO] * 4 + [logging.WARNING] * 2 + [logging.ERROR, logging.DEBUG, 35]
_DEEPEST = 3
_DATABASES = [
    database_at("PostgreSQL", Component.ASYNCPG, "db", 5432, "shop"),
    database_at("SQLite", Component.SQLITE, "склад.db", None),
    None,
]


class ClientDisconnect(Exception):
    """By its name, as frameworks have it."""


class Odd(BaseException):
    """No Exception."""


_ERRORS = [ValueError, KeyError, TimeoutError, OSError, ConnectionResetError, ClientDisconnect, Odd]


class Life:
    """One request, job or thread, while it lives."""

    def __init__(
        self, host: Host, dice: Random, see: See, advance: Callable[[int], object], *, is_plain: bool = False
    ) -> None:
        """:param is_plain: whether it is like most requests are, and needs no span"""
        self.is_plain = is_plain
        self._host, self._dice, self._see, self._advance = host, dice, see, advance
        self._left_open: list[Any] = []

    # -- what takes no await ------------------------------------------------------------------------------------------

    def act_at_once(self, depth: int = 0) -> None:
        """Do something that a thread can do, too."""
        if self.is_plain:
            self._dice.choice([self._pass_time, self._log, self._look, self._call])(depth)
            return
        for _ in range(self._dice.choice([0, 1, 1, 2])):
            self._dice.choice([
                self._pass_time, self._log, self._log, self._look, self._correlate, self._call, self._open_at_once,
            ])(depth)  # fmt: skip

    def _pass_time(self, _: int) -> None:
        self._advance(self._dice.choice([0, 1, 999_999, 1_000_000, 7_300_001, 250_000_000, 61_000_000_000]))

    def _log(self, _: int) -> None:
        dice, logger = self._dice, self._dice.choice(_LOGGERS)
        level, text = dice.choice(_LEVELS), dice.choice(draws.TEXTS)
        kind = dice.randrange(8)
        if kind < 3:
            logger.log(level, text)
        elif kind < 5:
            logger.log(level, "%s and %s", dice.choice(draws.VALUES), dice.choice(draws.VALUES))
        elif kind == 5:
            try:
                raise dice.choice(_ERRORS[:-1])(text)
            except Exception:
                logger.log(level, text, exc_info=True)
        elif kind == 6:
            logger.log(level, "of %(a)s", {"a": dice.choice(draws.VALUES)}, extra={"order": 7, "tid": "mine"})
        else:
            # arguments that do not fit
            logger.log(level, "%d of %s", text)

    def _look(self, _: int) -> None:
        self._see(f"trace {current_trace_id()}")
        if self.is_plain:
            return
        if self._dice.random() < 0.3:
            span = current_span()
            self._see(f"span {span is not None and (span.trace_id, span.segment_id, span.is_recorded)}")
        if self._dice.random() < 0.2 and (span := current_span()) is not None:
            span.tag(self._dice.choice(["a", "b", "http.method"]), self._dice.choice(draws.VALUES[:7]))

    def _correlate(self, _: int) -> None:
        key = self._dice.choice("abcd")
        self._see(f"put {put_correlation(key, self._dice.choice(draws.TEXTS)[:200])}, has {get_correlation(key)!r}")

    def _span(self) -> Any:
        dice = self._dice
        kind, name = dice.randrange(6), dice.choice(["work", "GET:/x", "", "имя", "n" * 400])
        peer = dice.choice(["db:5432", "10.0.0.1:80", "", "peer" * 90])
        if kind < 2:
            return local_span(name)
        if kind < 4:
            return exit_span(name, peer, component=dice.choice([0, 7, 99]))
        if kind == 4:
            return database_span(name, peer, type="sqlite", statement="SELECT 1" * dice.choice([1, 900]))
        given = {"sw8": draws.sw8(dice)} if dice.random() < 0.5 else {"traceparent": draws.traceparent(dice)}
        return entry_span(name, **given)  # type: ignore[arg-type]

    def _call(self, depth: int) -> None:
        """Make a call, as an instrumented library does."""
        dice = self._dice
        name, peer = dice.choice(["bind", "имя", "n" * 150]), dice.choice(["db:5432", "10.0.0.1:80", ""])
        layer = dice.choice([Layer.DATABASE, Layer.HTTP])
        if dice.random() < 0.5:
            span = begin_call(name, peer, layer, Component.ASYNCPG, dice.choice(draws.CALL_TAGS))
        else:
            span = begin_query(name, dice.choice(_DATABASES), dice.choice(draws.STATEMENTS), ())
        if span is None:
            return
        if dice.random() < 0.3:
            self._describe(span)
        if depth < _DEEPEST and dice.random() < 0.3:
            self.act_at_once(depth + 1)
        if dice.random() < 0.05:
            # never stopped
            self._left_open.append(span)
            return
        end_call(span, ValueError("of a call") if dice.random() < 0.1 else None)
        if dice.random() < 0.1:
            span.stop()

    def _describe(self, span: Any) -> None:
        dice = self._dice
        if dice.random() < 0.4:
            span.tag(dice.choice(["k", "ключ"]), dice.choice(draws.VALUES[:7]))
        if dice.random() < 0.2:
            span.log(event=dice.choice(draws.TEXTS))
        if dice.random() < 0.1:
            span.error(ValueError("described") if dice.random() < 0.5 else None)
        if dice.random() < 0.3:
            self._see(f"headers {sorted(span.headers().items())}")

    def _open_at_once(self, depth: int) -> None:
        if depth >= _DEEPEST:
            return
        if self._dice.random() < 0.1:
            # never stopped
            self._left_open.append(self._span().start())
            return
        if self._dice.random() < 0.2:
            trace("traced")(self.act_at_once)(depth + 1)
            return
        with self._span() as span:
            self._describe(span)
            self.act_at_once(depth + 1)

    # -- what does ----------------------------------------------------------------------------------------------------

    async def act(self, depth: int = 0) -> None:
        """Do something in a task."""
        if self.is_plain:
            await self._act_plainly()
            return
        for _ in range(self._dice.choice([0, 0, 1, 1, 2, 3])):
            chosen = self._dice.randrange(20)
            if chosen < 9:
                self.act_at_once(depth)
            elif chosen < 12:
                await self._host.pause()
            elif chosen < 16:
                await self._open(depth)
            elif chosen == 16:
                self._in_thread(depth)
            elif chosen == 17:
                await self._in_task(depth)
            elif chosen == 18 and self._dice.random() < 0.3:
                raise self._dice.choice(_ERRORS)(self._dice.choice(draws.TEXTS))
            elif chosen == 19:
                await self._catch(depth)

    async def _act_plainly(self) -> None:
        for _ in range(self._dice.randrange(3)):
            if self._dice.random() < 0.3:
                await self._host.pause()
            elif self._dice.random() < 0.1:
                self._in_thread(0)
            else:
                self.act_at_once()

    async def _open(self, depth: int) -> None:
        if depth >= _DEEPEST:
            return
        with self._span() as span:
            self._describe(span)
            await self.act(depth + 1)

    async def _catch(self, depth: int) -> None:
        try:
            await self.act(depth + 1)
        except BaseException as error:
            self._see(f"caught {type(error).__name__}")
            self.act_at_once(depth + 1)
            # a cancellation has to go on
            if not isinstance(error, Exception) or self._dice.random() < 0.5:
                raise

    def _in_thread(self, depth: int) -> None:
        life, context, snapshot = self._child(), copy_context(), capture()
        kind = self._dice.randrange(3)

        def run() -> None:
            if kind == 0:
                life.act_at_once(depth)
            elif kind == 1:
                context.run(life.act_at_once, depth)
            else:
                with snapshot:
                    life.act_at_once(depth)

        thread = threading.Thread(target=run, name="beside")
        thread.start()
        thread.join()

    async def _in_task(self, depth: int) -> None:
        life = self._child()

        async def run() -> None:
            try:
                await life.act(depth + 1)
            except Exception as error:
                self._see(f"a task failed: {type(error).__name__}")
            except Odd:
                self._see("a task failed oddly")

        await self._host.beside(run, is_joined=self._dice.random() < 0.6)

    def _child(self) -> Life:
        return Life(self._host, Random(self._dice.getrandbits(32)), self._see, self._advance, is_plain=self.is_plain)


async def serve(life: Life, scope: Any, dice: Random, receive: Any, send: Any) -> None:
    """The work of the application for one request."""
    if dice.random() < 0.5:
        await receive()
    if life.is_plain:
        await _answer_plainly(life, scope, dice, send)
        return
    if dice.random() < 0.8:
        draws.route(dice, scope)
    await life.act()
    if scope["type"] == "websocket":
        await _converse(life, dice, receive, send)
        return
    if dice.random() < 0.03:
        return
    await send({"type": "http.response.start", "status": dice.choice(draws.STATUSES), "headers": []})
    if dice.random() < 0.3:
        await life.act()
    await _send_body(life, dice, send)


async def _send_body(life: Life, dice: Random, send: Any) -> None:
    for left in reversed(range(dice.choice([1, 1, 1, 1, 2, 3]))):
        message: dict[str, Any] = {"type": "http.response.body", "body": b"x" * dice.randrange(9)}
        if left or dice.random() < 0.3:
            message["more_body"] = bool(left)
        await send(message)
        if dice.random() < 0.2:
            await life.act()
    if dice.random() < 0.03:
        await send(
            dice.choice([{"type": "http.response.trailers", "headers": []}, {"type": "odd"}, {}, {"type": None}])
        )


async def _answer_plainly(life: Life, scope: Any, dice: Random, send: Any) -> None:
    draws.plain_route(dice, scope)
    await life.act()
    await send({"type": "http.response.start", "status": dice.choice([200, 200, 404]), "headers": []})
    await send({"type": "http.response.body", "body": b"ok"})
    if dice.random() < 0.1:
        # after the end
        await life.act()


async def _converse(life: Life, dice: Random, receive: Any, send: Any) -> None:
    if dice.random() < 0.8:
        await send({"type": "websocket.accept"})
        for _ in range(dice.randrange(3)):
            await send({"type": "websocket.send", "text": "x"})
            await life.act()
            await receive()
    elif dice.random() < 0.5:
        await send({"type": "websocket.http.response.start", "status": 403, "headers": []})
        await send({"type": "websocket.http.response.body", "body": b""})
        return
    await send({"type": "websocket.close"})


def shape(dice: Random, app: Callable[[Any, Any, Any], Awaitable[None]]) -> Any:
    """The application in one of the forms that applications have."""
    kind = dice.randrange(20)
    if kind < 14:
        return app
    if kind < 16:
        return lambda scope, receive, send: app(scope, receive, send)
    if kind < 18:

        class Callee:
            async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
                await app(scope, receive, send)

        return Callee()

    def fail(scope: Any, receive: Any, send: Any) -> Any:
        # before it is awaited
        raise ValueError("no application") if kind == 18 else Odd("neither")

    return fail
