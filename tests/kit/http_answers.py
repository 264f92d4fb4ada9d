"""How an `HttpPeer` behaves: each a function of one call. `first(...)` puts them one after the other."""

from __future__ import annotations

import asyncio

from kit.http_peer import Behaviour, Call


def answer(status: int, *headers: str, body: bytes = b"[]") -> bytes:
    """A whole, honest answer."""
    lines = [f"HTTP/1.1 {status} Whatever", *headers, f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


def head(*headers: str) -> bytes:
    """The head of a confirmation, and no more."""
    return "\r\n".join(["HTTP/1.1 200 OK", *headers, "", ""]).encode()


def raw(data: bytes) -> Behaviour:
    """Any bytes."""
    return lambda call: call.link.write(data)


def status(code: int, *headers: str) -> Behaviour:
    """An answer with a status."""
    # these never have a body
    return raw(head(*headers).replace(b"200", b"%d" % code) if code in (204, 304) else answer(code, *headers))


confirm = status(200)


async def silent(call: Call) -> None:
    """No answer at all."""


async def hang_up(call: Call) -> None:
    """FIN, after all that was written."""
    call.link.hang_up()


async def abort(call: Call) -> None:
    """RST."""
    call.link.abort()


def late(seconds: float) -> Behaviour:
    """A pause."""
    return lambda call: asyncio.sleep(seconds)


def first(*behaviours: Behaviour) -> Behaviour:
    """One behaviour after the other."""

    async def behave(call: Call) -> None:
        for each in behaviours:
            await each(call)

    return behave


def endless(begin: bytes, chunk: bytes) -> Behaviour:
    """Bytes for as long as the client takes them."""

    async def behave(call: Call) -> None:
        await call.link.write(begin)
        while not call.link.writer.transport.is_closing():
            await call.link.write(chunk)

    return behave
