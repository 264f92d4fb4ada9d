import sys

from fastapi.responses import PlainTextResponse
from nicegui import app, ui

from shop import look_up


@app.get("/items/{id}", response_class=PlainTextResponse)
async def item(id: int):
    return look_up(id)


ui.run(host="127.0.0.1", port=int(sys.argv[1]), reload=False, show=False)
