"""Whether the answers of the API have the shape of their models: no key is missing, none is more, each has its type."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import httpx
from pydantic import ConfigDict, TypeAdapter
from typing_extensions import is_typeddict

from swagent.collector.api import models

# Setting it makes pydantic refuse a key that the model does not name.
for _model in vars(models).values():
    if is_typeddict(_model):
        _model.__pydantic_config__ = ConfigDict(extra="forbid", strict=True)

_PARAMETER = re.compile(r"\{[^}:]+(:path)?\}")
# The longest first: the endpoints of a service are below the services.
_PATHS = sorted(models.ANSWERS, key=len, reverse=True)


def check(path: str, body: bytes) -> None:
    """Raises what pydantic says of an answer that is not as its model.

    :param path: that was asked for
    """
    for pattern, compiled in _patterns():
        if compiled.fullmatch(path):
            _adapter(pattern).validate_json(body)
            return


async def check_response(response: httpx.Response) -> None:
    """For the hooks of a client."""
    if response.request.method == "GET" and response.status_code == 200 and _is_json(response):
        check(response.request.url.path, await response.aread())


def _is_json(response: httpx.Response) -> bool:
    kind: str = response.headers.get("content-type", "")
    return kind.startswith("application/json")


@cache
def _patterns() -> list[tuple[str, re.Pattern[str]]]:
    def compiled(path: str) -> re.Pattern[str]:
        return re.compile(_PARAMETER.sub(lambda found: ".+" if found[1] else "[^/]+", path))

    return [(path, compiled(path)) for path in _PATHS]


@cache
def _adapter(path: str) -> TypeAdapter[Any]:
    return TypeAdapter(models.ANSWERS[path])
