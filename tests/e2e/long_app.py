"""The application of `test_long_requests`: a websocket that lives long, and a call that is cancelled."""

from __future__ import annotations

import asyncio

from fastapi import FastAPI, WebSocket

from swagent import current_trace_id, exit_span, local_span

app = FastAPI()


@app.websocket("/talk")
async def talk(websocket: WebSocket) -> None:
    """Sends the trace's id, and then answers each message once it is stored."""
    await websocket.accept()
    await websocket.send_text(current_trace_id())
    async for message in websocket.iter_text():
        with local_span("message"), exit_span("store", "db:5432"):
            await asyncio.sleep(0)
        await websocket.send_text(message)
