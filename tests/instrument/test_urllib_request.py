"""urllib.request, of the standard library."""

from __future__ import annotations

import urllib.request
from collections.abc import Mapping

from .http_client_checks import HttpClientChecks

INSTRUMENTED = ("urllib-request",)
AGAINST = "an HTTP server"
EXAMPLES = ("/orders",)
NEEDS = ("betterproto==2.0.0b7", "grpclib==0.4.9", "protobuf>=5.26", "starlette>=0.40", "uvicorn>=0.32")


class TestUrllibRequest(HttpClientChecks):
    library, component, userinfo = "urllib-request", "PYTHON", ""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def get(self, url: str, headers: Mapping[str, str] = {}, timeout: float | None = 10) -> None:
        request = urllib.request.Request(url, headers=dict(headers))
        with self.opener.open(request, timeout=timeout) as response:
            response.read()
