"""websockets: the handshake of a client's connection, with all that `connect` does until it is open: redirects, TLS.

A connection lives long, and what it carries is the application's: it has no span. There are four clients, on asyncio (a
new one and the one before it), trio and threads; the first, third and fourth send their requests by one protocol.
"""

from __future__ import annotations

from typing import Any

from ....record.trace.model import Component
from ....record.trace.span import Span
from ...arguments import Args, Kwargs, argument
from ...call import end_call
from ...instrumentation import Instrumentation
from ...looking import before_call
from ...patches import Patches
from ...wrapping import around_call, around_function
from .http_call import begin_http_call, carry, note_status

_SWITCHING_PROTOCOLS = 101


def _hook(module: Any, patches: Patches) -> None:
    if module.__name__ == "websockets.client":
        patches.wrap(module.ClientProtocol, "send_request", before_call(_propagate_request))
    elif module.__name__ == "websockets.sync.client":
        _hook_threads(module, patches)
    else:
        connect = module.connect
        # it has got a public name in the course of time
        name = "connect" if hasattr(connect, "connect") else "__await_impl__"
        patches.wrap(connect, name, around_call(_begin_connect, _connected, _failed))
    if module.__name__ == "websockets.legacy.client":
        patches.wrap(module.WebSocketClientProtocol, "write_http_request", before_call(_propagate_http_request))


def _hook_threads(module: Any, patches: Patches) -> None:
    if isinstance(module.connect, type):
        patches.wrap(module.connect, "connect", around_call(_begin_connect, _connected, _failed))
    else:
        patches.wrap(module, "connect", around_function(_begin_function, _connected, _failed))


def _begin_function(_: object, args: Args, kwargs: Kwargs) -> Span | None:
    return _begin(_uri_of(args[0] if args else kwargs["uri"]))


def _begin_connect(connect: Any, *_: object) -> Span | None:
    return _begin(_uri_of(connect))


def _propagate_request(protocol: Any, args: Args, kwargs: Kwargs) -> None:
    carry(None, *_place(_uri_of(protocol)), argument(args, kwargs, 0, "request").headers)


def _propagate_http_request(protocol: Any, args: Args, kwargs: Kwargs) -> None:
    # their public names are deprecated
    place = _scheme(protocol._secure), protocol._host, protocol._port  # noqa: SLF001
    carry(None, *place, argument(args, kwargs, 1, "headers"))


def _uri_of(place: Any) -> Any:
    """Where a connection leads to, parsed. Each client and each version keeps it elsewhere."""
    for name in ("ws_uri", "wsuri", "uri", "_uri"):
        found = getattr(place, name, None)
        if found is not None:
            place = found
            break
    if not isinstance(place, str):
        return place
    from websockets.uri import parse_uri  # noqa: PLC0415, RUF100  (a client has imported it)

    return parse_uri(place)


def _scheme(is_secure: bool) -> str:
    return "wss" if is_secure else "ws"


def _place(uri: Any) -> tuple[str, str, int]:
    return _scheme(uri.secure), uri.host, uri.port


def _begin(uri: Any) -> Span | None:
    return begin_http_call("GET", *_place(uri), uri.path, Component.WEBSOCKETS)


def _connected(span: Span, *_: object) -> None:
    note_status(span, _SWITCHING_PROTOCOLS)
    span.stop()


def _failed(span: Span, error: BaseException) -> None:
    status = getattr(getattr(error, "response", None), "status_code", None) or getattr(error, "status_code", None)
    if isinstance(status, int):
        note_status(span, status)
    end_call(span, error)


INSTRUMENTATION = Instrumentation(
    name="websockets",
    module="websockets.client",
    hook=_hook,
    versions=">=14,<18",
    plugins=("sw_websockets",),
    also=(
        "websockets.asyncio.client",
        "websockets.legacy.client",
        "websockets.sync.client",
        "websockets.trio.client",
    ),
)
