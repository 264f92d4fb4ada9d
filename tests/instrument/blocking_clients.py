"""One face for every client of HTTP that blocks: how each of them is asked."""

from __future__ import annotations

import urllib.request
from collections.abc import Callable, Mapping
from contextlib import suppress
from urllib.error import HTTPError

import requests
import urllib3


def by_requests(url: str, headers: Mapping[str, str], timeout: float | None) -> None:
    """One GET, to its end."""
    requests.get(url, headers=dict(headers), timeout=timeout, auth=_as_it_is).close()


def _as_it_is(request: requests.PreparedRequest) -> requests.PreparedRequest:
    # without it the machine's ~/.netrc would be asked
    return request


def by_urllib3(url: str, headers: Mapping[str, str], timeout: float | None) -> None:
    """One GET, to its end."""
    with urllib3.PoolManager() as pool:
        pool.request("GET", url, headers=dict(headers), timeout=timeout, retries=urllib3.Retry(2, connect=0, read=0))


def by_urllib(url: str, headers: Mapping[str, str], timeout: float | None) -> None:
    """One GET, to its end."""
    request = urllib.request.Request(url, headers=dict(headers))
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with suppress(HTTPError), opener.open(request, timeout=timeout) as response:
        response.read()


CLIENTS: dict[str, tuple[Callable[[str, Mapping[str, str], float | None], None], str]] = {
    "requests": (by_requests, "REQUESTS"),
    "urllib3": (by_urllib3, "URLLIB3"),
    "urllib-request": (by_urllib, "PYTHON"),
}
"""How it is called, and its component."""
