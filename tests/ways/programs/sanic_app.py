from sanic import Sanic
from sanic.response import text

from shop import look_up

app = Sanic("shop")


@app.get("/items/<id:int>")
async def item(request, id):
    return text(look_up(id))
