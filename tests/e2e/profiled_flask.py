"""A shop of Flask's, to be profiled: `flask --app profiled_flask run`."""

from __future__ import annotations

import time

from flask import Flask, request

from swagent.wsgi import SkyWalkingMiddleware

app = Flask(__name__)


@app.get("/orders/<item>")
def order(item: str) -> str:
    ask_stock(float(request.args["seconds"]))
    return item


def ask_stock(seconds: float) -> None:
    time.sleep(seconds)


app.wsgi_app = SkyWalkingMiddleware(app.wsgi_app)  # type: ignore[method-assign]
