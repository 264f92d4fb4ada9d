"""The life of the agent in an application of aiohttp."""

from __future__ import annotations

import pytest

from asgi.calling import SEGMENTS_ONLY
from swagent import Agent, Config
from swagent.instrument.libraries.servers import aiohttp_server
from swagent.testing import MemoryCollector

pytestmark = pytest.mark.anyio


class Application(dict[str, object]):
    """Cannot be hashed, as those of aiohttp 3.8."""


async def test_an_application_that_cannot_be_hashed_has_the_agent() -> None:
    with pytest.raises(TypeError):
        hash(Application())
    collector, app = MemoryCollector(), Application()
    async with Agent(Config(**{**SEGMENTS_ONLY, "service": "shop"}), transport=collector.transport):
        await aiohttp_server._begin_life(app)
        assert id(app) in aiohttp_server._agents
        await aiohttp_server._end_life(app)
    assert id(app) not in aiohttp_server._agents


async def test_an_application_that_is_gone_without_a_cleanup_keeps_no_agent() -> None:
    collector, app = MemoryCollector(), Application()
    async with Agent(Config(**{**SEGMENTS_ONLY, "service": "shop"}), transport=collector.transport):
        await aiohttp_server._begin_life(app)
        identity = id(app)
        del app
    assert identity not in aiohttp_server._agents
