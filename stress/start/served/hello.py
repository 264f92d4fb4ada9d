"""The application that is started: one that has just begun."""

from __future__ import annotations

from fastapi import FastAPI

app = FastAPI()


@app.get("/")
async def greet() -> dict[str, str]:
    return {"hello": "world"}
