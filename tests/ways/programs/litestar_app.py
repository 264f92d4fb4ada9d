from litestar import Litestar, MediaType, get

from shop import look_up


@get("/items/{id:int}", media_type=MediaType.TEXT)
async def item(id: int) -> str:
    return look_up(id)


app = Litestar([item])
