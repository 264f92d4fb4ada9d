"""ASGI without a framework, with messages of betterproto and a header block of hpack."""

from dataclasses import dataclass

import betterproto
import grpclib.client
import h2.connection
import hpack

from shop import look_up

assert grpclib.client.Channel
assert h2.connection.H2Connection


@dataclass
class Item(betterproto.Message):
    name: str = betterproto.string_field(1)


async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                return
    name = Item().parse(bytes(Item(name=look_up(scope["path"].rpartition("/")[2])))).name
    ((_, value),) = hpack.Decoder().decode(hpack.Encoder().encode([("name", name)]))
    body = value if isinstance(value, bytes) else value.encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
    await send({"type": "http.response.body", "body": body})
