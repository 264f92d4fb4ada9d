"""A client of a running collector's JSON API, with nothing but the standard library."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from http.client import HTTPException
from types import MappingProxyType
from typing import Any, cast

Answer = dict[str, Any]
_TIMEOUT = 10.0


class CollectorError(Exception):
    """The collector cannot be asked, or refuses.

    :ivar status: of its answer; 0: there was none
    """

    def __init__(self, text: str, status: int = 0) -> None:
        super().__init__(text)
        self.status = status


class CollectorPage:
    """The API of one collector."""

    def __init__(self, url: str) -> None:
        """:param url: of its page; without a scheme it is taken for `http`
        :raises CollectorError: when it is no address
        """
        self.url = (url if "://" in url else f"http://{url}").partition("#")[0].rstrip("/")
        parts = urllib.parse.urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise CollectorError(f"{url!r} is no address of a page, such as http://127.0.0.1:12880")
        # straight to the collector, whatever proxy the environment names
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def get(self, *path: str, query: Mapping[str, object] = MappingProxyType({})) -> Answer:
        """Ask for something under `/api`.

        :param query: the parameters of the address
        :raises CollectorError: when there is no answer, or another one
        """
        return self._ask(path, None, urllib.parse.urlencode(query))

    def post(self, *path: str, body: Mapping[str, Any]) -> Answer:
        """Order something, as `get`."""
        return self._ask(path, json.dumps(body).encode())

    def _ask(self, path: tuple[str, ...], body: bytes | None, query: str = "") -> Answer:
        address = "/".join((self.url, "api", *(urllib.parse.quote(part, safe="") for part in path)))
        address += f"?{query}" if query else ""
        request = urllib.request.Request(address, body, {"content-type": "application/json"})  # noqa: S310
        try:
            with self._opener.open(request, timeout=_TIMEOUT) as answer:
                found: object = json.loads(answer.read())
        except urllib.error.HTTPError as error:
            raise CollectorError(_said(error), error.code) from error
        except (OSError, HTTPException) as error:
            reason: object = getattr(error, "reason", error)
            raise CollectorError(
                f"no collector answers at {self.url} ({reason}). Start one with: swagent collector"
            ) from error
        except ValueError as error:
            raise CollectorError(f"what answers at {self.url} is no page of swagent collector") from error
        if not isinstance(found, dict):
            raise CollectorError(f"what answers at {self.url} is no page of swagent collector")
        return cast("Answer", found)


def _said(error: urllib.error.HTTPError) -> str:
    try:
        return str(json.loads(error.read())["error"])
    except (ValueError, KeyError, TypeError, OSError):
        return f"the collector answers {error.code} {error.reason}"
