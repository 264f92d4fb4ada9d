"""The options of instrumentations: the settings that the official agent has for its plugins, and some of our own.

Settings that may show private data are off unless they are switched on.
"""

from __future__ import annotations

import re
from typing import Any

from . import kinds
from .options import check_list, parse_list
from .settings_class import Settings, settings


def _check_patterns(value: Any) -> tuple[str, ...]:
    patterns = check_list(value)
    try:
        _ = [re.compile(pattern) for pattern in patterns]
    except re.error as error:
        raise ValueError(value) from error
    return patterns


def _collects(framework: str, variable: str) -> Any:
    return kinds.flag(
        False,
        f"SW_PLUGIN_{variable}_COLLECT_HTTP_PARAMS",
        f"Tag requests of {framework} with the parameters of their query, as `http.params`. Forms and bodies are never "
        "collected.",
    )


@settings(frozen=True, kw_only=True)
class PluginOptions(Settings):
    """The part of `Config` that is about instrumentations."""

    disable_plugins: tuple[str, ...] = kinds.option(
        (),
        "SW_AGENT_DISABLE_PLUGINS",
        "Libraries that are not instrumented: by their names here, such as `httpx`, or by those of the official "
        "agent's plugins, such as `sw_httpx`. Regular expressions, which match from the beginning.",
        "comma-separated regular expressions",
        _check_patterns,
        parse_list,
    )
    trace_calls_outside_requests: bool = kinds.flag(
        False,
        "SW_AGENT_TRACE_CALLS_OUTSIDE_REQUESTS",
        "Let a call to a database or a cache be a trace of its own where no request and no span is around it, as of a "
        "scheduler that polls a table. Otherwise the meter `swagent_calls_outside_requests` counts it.",
    )
    plugin_http_ignore_method: tuple[str, ...] = kinds.option(
        (),
        "SW_PLUGIN_HTTP_IGNORE_METHOD",
        "Methods of HTTP requests that are not recorded, of those that come in and those that go out.",
        "comma-separated methods",
        lambda value: tuple(each.upper() for each in check_list(value)),
        parse_list,
    )
    plugin_http_http_params_length_threshold: int = kinds.number(
        1024,
        "SW_PLUGIN_HTTP_HTTP_PARAMS_LENGTH_THRESHOLD",
        "How many characters of a request's parameters are shown, where they are collected; 0: all, up to the bound of "
        "a tag.",
        0,
        1_000_000,
    )
    plugin_flask_collect_http_params: bool = _collects("Flask", "FLASK")
    plugin_sanic_collect_http_params: bool = _collects("Sanic", "SANIC")
    plugin_django_collect_http_params: bool = _collects("Django", "DJANGO")
    plugin_fastapi_collect_http_params: bool = _collects("FastAPI", "FASTAPI")
    plugin_bottle_collect_http_params: bool = _collects("Bottle", "BOTTLE")
    plugin_sql_statements: bool = kinds.flag(
        False,
        "SW_PLUGIN_SQL_STATEMENTS",
        "Tag queries with their statement, as the application wrote it: with placeholders, or with values in it. The "
        "official agent always does.",
    )
    plugin_sql_parameters_max_length: int = kinds.number(
        0,
        "SW_PLUGIN_SQL_PARAMETERS_MAX_LENGTH",
        "How many characters of a query's parameters are shown; 0: none.",
        0,
        1_000_000,
    )
    plugin_cache_keys: bool = kinds.flag(
        False, "SW_PLUGIN_CACHE_KEYS", "Tag commands to a cache with their key. The official agent always does."
    )
    plugin_pymongo_trace_parameters: bool = kinds.flag(
        False, "SW_PLUGIN_PYMONGO_TRACE_PARAMETERS", "Tag commands to MongoDB with what they ask for."
    )
    plugin_pymongo_parameters_max_length: int = kinds.number(
        512,
        "SW_PLUGIN_PYMONGO_PARAMETERS_MAX_LENGTH",
        "How many characters of that are shown.",
        0,
        1_000_000,
    )
    plugin_elasticsearch_trace_dsl: bool = kinds.flag(
        False, "SW_PLUGIN_ELASTICSEARCH_TRACE_DSL", "Tag searches with their body."
    )
    plugin_celery_parameters_length: int = kinds.number(
        0,
        "SW_PLUGIN_CELERY_PARAMETERS_LENGTH",
        "How many characters of a job's arguments are shown; 0: none. The official agent shows 512 by default.",
        0,
        1_000_000,
    )
    plugin_grpc_ignored_methods: tuple[str, ...] = kinds.list_of(
        "", "SW_PLUGIN_GRPC_IGNORED_METHODS", "gRPC methods that are not recorded, such as `/shop.Orders/Watch`."
    )
