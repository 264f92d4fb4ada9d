"""Instrumenting as the settings say: what is left out, and what is collected."""

from __future__ import annotations

import re

from ..config import Config
from . import settings
from .installation import instrument
from .instrumentation import Instrumentation


def instrument_as_configured(config: Config) -> None:
    """Instrument all libraries but those that the configuration switches off."""
    settings.use(settings_of(config))
    patterns = [re.compile(pattern) for pattern in config.disable_plugins]

    def is_off(instrumentation: Instrumentation) -> str | None:
        names = (instrumentation.name, *instrumentation.plugins)
        found = next((each for each in patterns if any(each.match(name) for name in names)), None)
        return None if found is None else f"by SW_AGENT_DISABLE_PLUGINS: {found.pattern}"

    instrument(is_off=is_off)


def settings_of(config: Config) -> settings.Settings:
    """What instrumentations collect, by the configuration."""
    return settings.Settings(
        sql_statements=config.plugin_sql_statements,
        sql_parameters_max_length=config.plugin_sql_parameters_max_length,
        cache_keys=config.plugin_cache_keys,
        mongo_parameters=config.plugin_pymongo_trace_parameters,
        mongo_parameters_max_length=config.plugin_pymongo_parameters_max_length,
        elasticsearch_dsl=config.plugin_elasticsearch_trace_dsl,
        celery_parameters_max_length=config.plugin_celery_parameters_length,
        grpc_ignored_methods=config.plugin_grpc_ignored_methods,
        http_ignored_methods=config.plugin_http_ignore_method,
    )
