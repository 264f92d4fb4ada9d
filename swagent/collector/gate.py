"""The checks before the collector's HTTP servers: of the client and of the request. It adds headers to every answer.

A page of any site can send requests to 127.0.0.1, and a name of its own that it points there makes it the same origin
as this server. So the page answers to names of this machine only, and neither server to other sites' pages.

Browsers send an Origin with some requests only: none with an image, a frame or a link. Sec-Fetch-Site says for all of
them which site began the request, and no script can set it. Another port of this machine is another origin, though the
same site. A person may follow a link of any site to the page itself, in a tab of its own, and to nothing else here.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Collection, Sequence

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
}

_OWN_SITES = ("none", "same-origin")  # the person's own doing, or the page's


class Gate:
    """Refuses each request that comes neither from the page nor from a local tool."""

    def __init__(
        self, app: ASGIApp, host: str, methods: Sequence[str], *, names_matter: bool, orders: Collection[str] = ()
    ) -> None:
        """:param host: the address on which the server listens
        :param names_matter: whether the Host header must be a name of this machine
        :param orders: the paths that take JSON by POST
        """
        self._app = app
        self._host = host.lower()
        self._methods = methods
        self._names_matter = names_matter
        self._orders = orders

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        has_begun = False

        async def send_with_headers(message: Message) -> None:
            nonlocal has_begun
            if message["type"] == "http.response.start":
                has_begun = True
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        app = self._refusal(scope) or self._app
        try:
            await app(scope, receive, send_with_headers)
        except asyncio.CancelledError:  # the server stops; the client may ask the next one
            if has_begun:
                raise
            await _refuse(503, "the collector stops")(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope) -> ASGIApp | None:
        headers = Headers(scope=scope)
        host, origin = headers.get("host", ""), headers.get("origin")
        if self._names_matter and not is_own(_name(host), self._host):
            return _refuse(403, f"the host {host!r} is not this machine: open it as 127.0.0.1 or localhost")
        site = headers.get("sec-fetch-site", "none")
        if site not in _OWN_SITES and not (self._names_matter and _is_visit(scope, headers)):
            return _refuse(403, f"a request that another site began ({site!r}) has no access: open the page itself")
        if origin is not None and not (self._names_matter and origin == f"http://{host}"):
            return _refuse(403, f"the origin {origin!r} has no access: open the page itself")
        is_order = scope["path"] in self._orders
        methods = (*self._methods, "POST") if is_order else self._methods
        if scope["method"] not in methods:
            return _refuse(405, f"{scope['method']} is not for this address: use {' or '.join(methods)}")
        # a form of another site cannot send JSON, should a browser leave the Origin out
        if is_order and scope["method"] == "POST" and _kind(headers) != "application/json":
            return _refuse(415, "the body must be application/json")
        return None


def is_own(name: str, listening: str) -> bool:
    """Whether a name in a Host header is one of this machine.

    :param listening: the address on which the server listens
    """
    if name in ("localhost", listening.strip("[]")):
        return True
    address, own = _address(name), _address(listening.strip("[]"))
    if address is None:  # another name: the owner of its zone may point it anywhere
        return False
    return address.is_loopback or (own is not None and own.is_unspecified)


def _is_visit(scope: Scope, headers: Headers) -> bool:
    """Whether a link to the page is followed, in a tab and not in a frame."""
    how = (headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest"))
    return scope["path"] == "/" and how == ("navigate", "document")


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None


def _kind(headers: Headers) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def _name(host: str) -> str:
    """The Host header without its port and brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()


def _refuse(status: int, text: str) -> JSONResponse:
    return JSONResponse({"error": text}, status)
