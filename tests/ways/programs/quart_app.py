from quart import Quart

from shop import look_up

app = Quart(__name__)


@app.get("/items/<int:id>")
async def item(id):
    return look_up(id)
