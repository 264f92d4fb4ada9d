"""A shop that shows what its agent says, to be configured at run time: `uvicorn configured_app:app`."""

from __future__ import annotations

import logging

from fastapi import FastAPI

from swagent.asgi import SkyWalkingMiddleware

logging.basicConfig(level=logging.INFO)
application = FastAPI()


@application.api_route("/orders/{item}", methods=["PUT", "PATCH", "DELETE"])
async def order(item: str) -> str:
    return item


app = SkyWalkingMiddleware(application)
