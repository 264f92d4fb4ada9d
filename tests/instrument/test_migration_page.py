"""The page about the official agent says of every plugin what replaces it."""

from __future__ import annotations

import re
from importlib.metadata import entry_points
from pathlib import Path

from swagent.instrument import Instrumentation
from swagent.instrument.installation import GROUP

PAGE = Path(__file__).parents[2] / "docs" / "migration.md"
_ROW = re.compile(r"^\| `(sw_\w+)` \| [^|]+ \| ([^|]+) \|$", re.MULTILINE)
_NAMES = """
aiohttp aioredis aiormq amqp asyncpg bottle celery confluent_kafka django elasticsearch falcon falcon_v3 fastapi flask
grpc happybase http_server httpx kafka loguru mysqlclient neo4j psycopg psycopg2 pulsar pymongo pymysql pyramid rabbitmq
redis requests sanic sanic_v2 tornado urllib3 urllib3_v2 urllib_request websockets
"""
PLUGINS = frozenset(_NAMES.split())
"""Of version 1.3."""
_OTHERWISE = {"sw_loguru", "sw_fastapi", "sw_sanic"}


def test_every_plugin_has_a_row() -> None:
    rows = _ROW.findall(PAGE.read_text("utf-8"))
    assert sorted(plugin for plugin, _ in rows) == sorted(f"sw_{name}" for name in PLUGINS)
    assert len(PLUGINS) == 38


def test_native_libraries_are_listed_as_native() -> None:
    rows = dict(_ROW.findall(PAGE.read_text("utf-8")))
    found = [point.load() for point in entry_points(group=GROUP)]
    instrumentations = [each for one in found for each in ([one] if isinstance(one, Instrumentation) else one)]
    replaced = {plugin for each in instrumentations for plugin in each.plugins}
    assert replaced >= {"sw_httpx", "sw_requests", "sw_grpc"}
    assert [name for name in sorted(replaced - _OTHERWISE) if "native" not in rows[name]] == []
