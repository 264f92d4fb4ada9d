"""A shop of Flask's, to be profiled: `flask --app profiled_flask run`."""

from __future__ import annotations

import time

from flask import Flask

from swagent.wsgi import SkyWalkingMiddleware

app = Flask(__name__)


@app.get("/orders/<item>")
def order(item: str) -> str:
    ask_stock()
    return item


def ask_stock() -> None:
    time.sleep(1.0)


app.wsgi_app = SkyWalkingMiddleware(app.wsgi_app)  # type: ignore[method-assign]
