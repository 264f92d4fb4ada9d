from fastapi import FastAPI
from fastapi.responses import PlainTextResponse

from shop import look_up

app = FastAPI()


@app.get("/items/{id}", response_class=PlainTextResponse)
async def item(id: int):
    return look_up(id)
