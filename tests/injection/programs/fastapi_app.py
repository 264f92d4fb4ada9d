from fastapi import FastAPI
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel

from shop import look_up

app = FastAPI()


class Item(BaseModel):
    id: int


@app.get("/items/{id}")
async def item(id: int):
    return PlainTextResponse(look_up(Item(id=id).id))
