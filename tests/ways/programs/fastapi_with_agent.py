from contextlib import asynccontextmanager

from fastapi_app import app

from swagent import Agent, Config
from swagent.asgi import SkyWalkingMiddleware
from swagent.instrument import instrument

instrument("sqlite3")


@asynccontextmanager
async def lifespan(_):
    async with Agent(Config.from_env()):
        yield


app.router.lifespan_context = lifespan
app.add_middleware(SkyWalkingMiddleware)
