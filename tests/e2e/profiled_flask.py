"""A shop of Flask's, to be profiled: `flask --app profiled_flask run`."""

from __future__ import annotations

import threading
import time

from flask import Flask, request

from swagent.wsgi import SkyWalkingMiddleware

app = Flask(__name__)


@app.get("/orders/<item>")
def order(item: str) -> str:
    ask_stock(float(request.args["seconds"]))
    return item


@app.get("/threads")
def threads() -> list[str]:
    """The names of the threads: one of them is the sampler's, while it looks."""
    return [each.name for each in threading.enumerate()]


def ask_stock(seconds: float) -> None:
    time.sleep(seconds)


app.wsgi_app = SkyWalkingMiddleware(app.wsgi_app)  # type: ignore[method-assign]
