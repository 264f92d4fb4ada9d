"""How an `HttpPeer` behaves: each a function of one call. Those that any peer knows are of `kit.answers`."""

from __future__ import annotations

from kit.answers import abort, first, hang_up, late, raw, silent
from kit.http_peer import Call
from kit.servers import Behaviour

__all__ = ["abort", "answer", "confirm", "endless", "first", "hang_up", "head", "late", "raw", "silent", "status"]


def answer(status: int, *headers: str, body: bytes = b"[]") -> bytes:
    """A whole, honest answer."""
    lines = [f"HTTP/1.1 {status} Whatever", *headers, f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


def head(*headers: str) -> bytes:
    """The head of a confirmation, and no more."""
    return "\r\n".join(["HTTP/1.1 200 OK", *headers, "", ""]).encode()


def status(code: int, *headers: str) -> Behaviour:
    """An answer with a status."""
    # these never have a body
    return raw(head(*headers).replace(b"200", b"%d" % code) if code in (204, 304) else answer(code, *headers))


confirm = status(200)


def endless(begin: bytes, chunk: bytes) -> Behaviour:
    """Bytes for as long as the client takes them."""

    async def behave(call: Call) -> None:
        await call.link.write(begin)
        while not call.link.writer.transport.is_closing():
            await call.link.write(chunk)

    return behave
