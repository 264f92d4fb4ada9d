"""Runs in an environment of its own, see `official_agent`: one service that calls itself, and fails when asked to."""

from __future__ import annotations

import logging
import os
import socket

from skywalking import agent, config

config.init(
    agent_collector_backend_services=os.environ["BACKEND"],
    agent_protocol=os.environ["PROTOCOL"],
    agent_name="official",
    agent_instance_name="official-1",
    agent_log_reporter_active=True,
    agent_logging_level="CRITICAL",
)
agent.start()

# behind the start, which has to patch them first
import requests  # noqa: E402
import uvicorn  # noqa: E402
from fastapi import FastAPI  # noqa: E402

app = FastAPI()
log = logging.getLogger("shop")
BASE = f"http://127.0.0.1:{os.environ['PORT']}"


@app.get("/orders/{item}")
def order(item: str) -> object:
    log.warning("an order of %s", item)
    return requests.get(f"{BASE}/stock/{item}", timeout=10).json()


@app.get("/stock/{item}")
async def stock(item: str) -> int:
    if item == "umbrella":
        raise RuntimeError("no umbrellas")
    return 3


listener = socket.create_server(("127.0.0.1", int(os.environ["PORT"])))
print("up", flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="critical")).run(sockets=[listener])
