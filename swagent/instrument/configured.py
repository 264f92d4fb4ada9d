"""Instruments libraries by the settings: which ones, and which data they collect."""

from __future__ import annotations

import re
from functools import partial

from ..config import Config
from ..runtime.start_calls import at_start
from . import settings
from .announcement import announce
from .gate import is_installed, why_unsupported
from .installation import Report, State, known
from .installation import instrument as install
from .instrumentation import Instrumentation
from .listeners import Listeners, OnCall


def instrument(
    *names: str, config: Config | None = None, on_request: OnCall | None = None, on_response: OnCall | None = None
) -> None:
    """Record what the application does with its libraries, from their import on, as far as the settings allow: what
    `SW_AGENT_DISABLE_PLUGINS` names is left out. A second call does nothing but change `on_request` and `on_response`,
    where it has any.

    Servers are among them: they put the middleware around the application that they load, and so start the agent,
    unless it has been started. Call it before they are imported, as `swagent run` does.

    :param names: of instrumentations; none: all
    :param config: `Config.from_env()` when left out
    :param on_request: called in each call that has a span, with the span and what is about to be sent, as the library
        has it; only with the names of clients that show it. An exception of it is logged once
    :param on_response: the same with what has come back; not where the call has raised
    :raises ConfigError: there is none of that name, one does not show its calls, or a setting cannot be used
    """
    listens = on_request is not None or on_response is not None
    listeners = Listeners(on_request, on_response) if listens else None
    config = Config.from_env() if config is None else config
    settings.use(settings_of(config))
    install(*names, is_off=partial(switched_off, config), listeners=listeners)
    at_start(announce)


def switched_off(config: Config, instrumentation: Instrumentation) -> str | None:
    """Why the settings switch one off; None: they do not."""
    names = (instrumentation.name, *instrumentation.plugins)
    found = next((each for each in config.disable_plugins if any(re.match(each, name) for name in names)), None)
    return None if found is None else f"by SW_AGENT_DISABLE_PLUGINS: {found}"


def preview(config: Config) -> list[Report]:
    """The state that each instrumentation would have whose library is installed. This imports and hooks nothing."""
    return [_expected(config, each) for each in known() if is_installed(each)]


def _expected(config: Config, instrumentation: Instrumentation) -> Report:
    off = switched_off(config, instrumentation)
    if off is not None:
        return Report(instrumentation.name, State.OFF, off)
    problem = why_unsupported(instrumentation)
    if problem is not None:
        return Report(instrumentation.name, State.UNSUPPORTED, problem)
    return Report(instrumentation.name, State.ACTIVE, "")


def settings_of(config: Config) -> settings.Settings:
    """The data that instrumentations collect, by the configuration."""
    return settings.Settings(
        sql_statements=config.plugin_sql_statements,
        sql_parameters_max_length=config.plugin_sql_parameters_max_length,
        cache_keys=config.plugin_cache_keys,
        mongo_parameters=config.plugin_pymongo_trace_parameters,
        mongo_parameters_max_length=config.plugin_pymongo_parameters_max_length,
        elasticsearch_dsl=config.plugin_elasticsearch_trace_dsl,
        celery_parameters_max_length=config.plugin_celery_parameters_length,
        grpc_ignored_methods=config.plugin_grpc_ignored_methods,
        calls_outside_requests=config.trace_calls_outside_requests,
        http_real_paths=config.compatibility == "official",
        http_ignored_methods=config.plugin_http_ignore_method,
    )
