"""A Flask service that knows nothing of any agent."""

from __future__ import annotations

from flask import Flask

app = Flask(__name__)


@app.get("/stock/<item>")
def stock(item: str) -> dict[str, object]:
    """How many there are."""
    return {"item": item, "left": 7}
