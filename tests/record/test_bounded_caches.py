"""Caches are bounded by the bytes of what they hold, and every cache that outside names reach is one of them."""

from __future__ import annotations

import ast
import gc
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest

import swagent
from record.recorded import Recorder
from swagent.instrument.libraries.cache import redis
from swagent.instrument.libraries.http import http_call
from swagent.instrument.libraries.messaging import kafka_call, message_call, rabbitmq_call
from swagent.instrument.libraries.search import search_call
from swagent.instrument.libraries.sql import sql_call
from swagent.record.bounded_cache import BoundedCache, remembered

_LONG = 100_000
_CALLS = 100
_ROOM = 4 * 1024 * 1024


def _name(number: int) -> str:
    return f"{number}{'a' * _LONG}"


class _Pool:
    connection_kwargs: ClassVar[dict[str, Any]] = {"host": "there", "port": 6379}


class _Client:
    connection_pool = _Pool()


class _Pipeline(_Client):
    def __init__(self, word: Any) -> None:
        self.command_stack: list[Any] = [((word, "key"), {})]


_begin, _begin_pipeline = redis._begin_for("Redis"), redis._begin_pipeline_for("Redis")


def _end(span: Any) -> None:
    if span is not None:
        span.stop()


CALLS: dict[str, Callable[[str], object]] = {
    "a command": lambda name: _end(_begin(_Client(), (f"SET k {name}",), {})),
    "a command in bytes": lambda name: _end(_begin(_Client(), (f"SET k {name}".encode(),), {})),
    "a command without a blank": lambda name: _end(_begin(_Client(), (name,), {})),
    "a pipeline": lambda name: _end(_begin_pipeline(_Pipeline(f"SET k {name}"), (), {})),
    "a path": lambda name: _end(http_call.begin_http_call("GET", "http", "there", None, f"/{name}", 1)),
    "a host": lambda name: _end(http_call.begin_http_call("GET", "http", name, None, "/", 1)),
    "a search": lambda name: _end(search_call.begin_search("OpenSearch", "GET", f"/_search?q={name}", "there", None)),
    "an index": lambda name: _end(search_call.begin_search("OpenSearch", "GET", f"/{name}/_search", "there", None)),
    "a database": lambda name: sql_call.database_at("SQLite", 1, name, None),
    "a statement": lambda name: sql_call.keyword_of(name),
    "a topic": lambda name: _end(kafka_call.begin_kafka_send(name, "there:9092")),
    "topics": lambda name: _end(kafka_call.begin_kafka_receive((name,), "group", "there:9092", ())),
    "a queue": lambda name: _end(rabbitmq_call.begin_publish("exchange", name, "there:5672")),
    "a message": lambda name: _end(message_call.begin_send(name, "there", 1, name, name)),
}


@pytest.mark.parametrize("kind", CALLS)
def test_long_names_leave_a_bounded_rest_behind(kind: str, recorder: Recorder) -> None:
    call = CALLS[kind]
    call("a")
    gc.collect()
    tracemalloc.start()
    try:
        for number in range(_CALLS):
            call(_name(number))
            recorder.segments.clear()
        gc.collect()
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < _ROOM, f"{held} bytes of {_CALLS * _LONG}"


@pytest.mark.parametrize("word", ["SET k " + "a" * _LONG, b"SET k " + b"a" * _LONG, "a" * _LONG])
def test_a_long_command_has_a_short_name(word: str | bytes, recorder: Recorder) -> None:
    _end(_begin(_Client(), (word,), {}))
    tags = dict(recorder.only.spans[0].tags)
    assert len(tags["cache.cmd"]) <= 64
    assert tags["cache.cmd"] in ("SET", "A" * 64)


def test_a_cache_holds_many_short_keys_and_few_long_ones() -> None:
    cache: BoundedCache[str, int] = BoundedCache(len)
    for number in range(1000):
        assert cache[str(number)] == len(str(number))
    assert len(cache) == 1000
    for number in range(100):
        assert cache[_name(number)] == len(_name(number))
        assert sum(map(len, cache)) <= 256 * 1024
    assert cache["a" * 1_000_000] == 1_000_000
    assert sum(map(len, cache)) <= 256 * 1024


def test_a_function_is_asked_once_for_what_it_remembers() -> None:
    asked: list[tuple[str, int]] = []

    @remembered(3)
    def join(text: str, number: int = 0) -> str:
        asked.append((text, number))
        return f"{text}{number}"

    for _ in range(2):
        assert join("a", 1) == "a1"
        assert join("b", number=2) == "b2"
    assert asked == [("a", 1), ("b", 2)]
    for number in range(8):
        join("a" * _LONG, number)
    join("a" * _LONG, 7)
    assert len(asked) == 10
    join("a" * _LONG, 0)
    assert len(asked) == 11, "it was not kept"
    assert join.__name__ == "join"


# The modules with a cache that is bounded by its number alone, and why that is enough.
_BY_NUMBER = {
    "swagent/inspection/installed_code.py": "one",
    "swagent/inspection/touched.py": "one for each library that is looked into",
    "swagent/instrument/libraries/sql/asyncmy.py": "classes of cursors",
    "swagent/instrument/libraries/sql/sql_subclass.py": "classes of cursors and connections",
    "swagent/instrument/libraries/sql/sql_summary.py": "four patterns",
    "swagent/instrument/libraries/sql/sqlite3.py": "one",
    "swagent/pipeline/meter_encoding.py": "labels, which the meters keep, and whose number is bounded there",
    "swagent/record/bounded_cache.py": "it is the bound",
    "swagent/testing/budgets.py": "the traces of one test",
}


@pytest.mark.gate
def test_no_other_cache_of_the_agent_is_bounded_by_its_number_alone() -> None:
    folder = Path(swagent.__file__).parent
    found = set[str]()
    for path in folder.rglob("*.py"):
        name = f"swagent/{path.relative_to(folder).as_posix()}"
        if name.startswith("swagent/collector/"):
            continue  # a product of its own, whose bounds are those of its store
        names = {each.attr for each in ast.walk(ast.parse(path.read_text())) if isinstance(each, ast.Attribute)}
        names |= {each.id for each in ast.walk(ast.parse(path.read_text())) if isinstance(each, ast.Name)}
        if names & {"lru_cache", "cache", "cached_property"}:
            found.add(name)
    assert found == set(_BY_NUMBER)
