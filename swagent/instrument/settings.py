"""The data that instrumentations collect beside names, peers and outcomes. Private data is off by default."""

from __future__ import annotations

from typing import NamedTuple


class Settings(NamedTuple):
    """The switches that instrumentations look at."""

    sql_statements: bool = False
    """Tag a query with its statement, as the application wrote it: with placeholders, or with values in it."""
    sql_parameters_max_length: int = 0
    """How many characters of a query's parameters are shown; 0: none."""
    cache_keys: bool = False
    """Tag a cache's command with its key."""
    mongo_parameters: bool = False
    """Tag a MongoDB command with what it asks for."""
    mongo_parameters_max_length: int = 512
    elasticsearch_dsl: bool = False
    """Tag a search with its body."""
    celery_parameters_max_length: int = 0
    """How many characters of a job's arguments are shown; 0: none."""
    grpc_ignored_methods: tuple[str, ...] = ()
    """Methods that are not recorded, such as `/grpc.health.v1.Health/Check`."""
    calls_outside_requests: bool = True
    """Let a call to a database or a cache that no request and no other span is around be a trace of its own."""
    http_real_paths: bool = False
    """Show the paths of outgoing requests as they are, and their hosts without a port that is the scheme's own."""
    http_ignored_methods: tuple[str, ...] = ()
    """Methods of HTTP, in upper case, that are not recorded, at either end."""


_current = Settings()


def current() -> Settings:
    """The settings of this process."""
    return _current


def use(settings: Settings) -> None:
    """Let these be the settings from now on."""
    global _current  # noqa: PLW0603, RUF100
    _current = settings
