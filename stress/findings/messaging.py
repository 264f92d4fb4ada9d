"""Messages: the handlers of a case whose consumer does not keep up, and of healthy variants. Each message is consumed
in the process that sent it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from contextvars import Context
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

import swagent
from swagent import Layer

from .handlers import LEVEL, done, handler, is_chosen, query

BROKER = "broker:9092"


class Message(NamedTuple):
    """A message with its producer's headers.

    :ivar ms: of the work on it
    :ivar later: seconds after which it is to be consumed
    """

    headers: Mapping[str, str]
    ms: float
    later: float


QUEUE: asyncio.Queue[Message] = asyncio.Queue()
TASKS: list[asyncio.Task[None]] = []


def _start(work: Coroutine[None, None, None]) -> None:
    """Begin a task that has nothing to do with the request."""
    TASKS.append(Context().run(asyncio.get_running_loop().create_task, work))


async def _consume() -> None:
    while True:
        message = await QUEUE.get()
        if message.later:
            _start(_deliver(message))
        else:
            await _work(message)


async def _deliver(message: Message) -> None:
    await asyncio.sleep(message.later)
    await _work(message)


async def _work(message: Message) -> None:
    with swagent.entry_span("orders/Consumer/mail", sw8=message.headers.get("sw8"), layer=Layer.MQ):
        await query("INSERT mail", message.ms)


async def _send(ms: float, later: float = 0) -> Response:
    if not TASKS:
        _start(_consume())
    await query("INSERT order", 8)
    with swagent.message_span("orders/Producer", BROKER, topic="orders") as span:
        QUEUE.put_nowait(Message(span.headers(), ms, later))
    return done()


@handler("backlog", "shop", "/work")
async def backlog(request: Request) -> Response:
    """Some messages take long, and those behind them wait."""
    return await _send(LEVEL if is_chosen(request, 40) else 2)


@handler("quick_queue", "shop", "/work")
async def quick_queue(_: Request) -> Response:
    return await _send(2)


@handler("sent_for_later", "shop", "/work")
async def sent_for_later(_: Request) -> Response:
    return await _send(2, later=0.3)
