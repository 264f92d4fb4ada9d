"""ASGI on trio, without a framework."""

import anyio
import sniffio
import trio

from shop import look_up


async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                return
    async with trio.open_nursery() as nursery, anyio.create_task_group() as group:
        nursery.start_soon(trio.sleep, 0)
        group.start_soon(anyio.sleep, 0)
    text = f"{sniffio.current_async_library()}: {look_up(scope['path'].rpartition('/')[2])}"
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
    await send({"type": "http.response.body", "body": text.encode()})
