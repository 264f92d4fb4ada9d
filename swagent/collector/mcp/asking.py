"""Who answers: the queries of this process's store, or another collector over HTTP."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from collections.abc import Mapping
from http.client import HTTPException
from typing import Any, Protocol, cast
from urllib.parse import quote, urlencode

import anyio.to_thread

from ..api.parameters import Parameters
from ..api.queries import Query
from ..api.query_thread import QueryThread
from ..store.database import StoreError
from .bounded import shorten

Answer = dict[str, Any]
Values = Mapping[str, "str | int | None"]
_PART = re.compile(r"\{(\w+)(?::path)?\}")
_LONGEST_WAIT = 30.0  # seconds
_MOST_BYTES = 64 * 1024 * 1024


class AskingError(Exception):
    """There is no answer; the message says why, and what to do."""


class Ask(Protocol):
    """Asks a query of the JSON API."""

    async def __call__(self, path: str, parts: Mapping[str, str] = {}, /, **query: str | int | None) -> Answer:
        """
        :param path: of the query, as `queries` names it
        :param parts: the values of the path's parts
        :param query: parameters; None and empty ones are not given
        :raises AskingError: nothing is kept of it, a parameter is wrong, or the collector does not answer
        """
        ...


def _given(query: Values) -> dict[str, str]:
    return {name.rstrip("_"): str(value) for name, value in query.items() if value not in (None, "")}


class OwnStore:
    """The queries of this process."""

    def __init__(self, queries: Mapping[str, Query], thread: QueryThread) -> None:
        self._queries = queries
        self._thread = thread

    async def __call__(self, path: str, parts: Mapping[str, str] = {}, /, **query: str | int | None) -> Answer:
        """See `Ask`."""
        parameters = Parameters(parts, _given(query))
        try:
            found = await self._thread.run(lambda: self._queries[path](parameters))
        except (ValueError, StoreError) as error:
            raise AskingError(str(error)) from error
        if found is None:
            raise AskingError(f"nothing is kept of {', '.join(parts.values())!r}: it never came, or fell out")
        return found


class OtherCollector:
    """A collector that runs already, by the address of its page."""

    def __init__(self, address: str) -> None:
        """:param address: `host:port`"""
        self._url = f"http://{address}"
        # no proxy: it is on this machine
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    async def __call__(self, path: str, parts: Mapping[str, str] = {}, /, **query: str | int | None) -> Answer:
        """See `Ask`."""
        filled = _PART.sub(lambda part: quote(parts[part[1]], safe=""), path)
        url = f"{self._url}{filled}?{urlencode(_given(query))}"
        return await anyio.to_thread.run_sync(self._get, url)

    def _get(self, url: str) -> Answer:
        try:
            with self._opener.open(url, timeout=_LONGEST_WAIT) as response:
                answer = json.loads(response.read(_MOST_BYTES))
        except urllib.error.HTTPError as error:
            raise AskingError(_reason(error)) from error
        except (OSError, ValueError, HTTPException) as error:
            raise AskingError(f"the collector at {self._url} does not answer: {error!r}") from error
        if not isinstance(answer, dict):
            raise AskingError(f"at {self._url} is no collector: it answers {shorten(repr(answer), 60)}")
        return cast("Answer", answer)

    def is_there(self) -> bool:
        """Whether a collector of this kind answers there."""
        try:
            return "segments" in self._get(f"{self._url}/api/status")
        except AskingError:
            return False


def _reason(error: urllib.error.HTTPError) -> str:
    try:
        return str(json.loads(error.read(4096))["error"])
    except (OSError, ValueError, KeyError, TypeError):
        return f"the collector answered {error.code}"
