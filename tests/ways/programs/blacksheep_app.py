from blacksheep import Application, get, text

from shop import look_up

app = Application()


@get("/items/{id}")
async def item(id: int):
    return text(look_up(id))
