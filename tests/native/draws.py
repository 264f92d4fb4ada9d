"""The draws of a case: scopes, headers, texts and settings, ordinary and odd."""

from __future__ import annotations

from random import Random
from types import SimpleNamespace
from typing import Any
from wsgiref.util import setup_testing_defaults

from swagent.record.trace.carrier import Carrier, format_correlation, format_sw8

# Templates are kept by the identity of their routes, so routes live as long as the process.
ROUTES = [SimpleNamespace(path=path) for path in (
    "/", "/items/{id}", "/orders/{order}/lines/{line}", "/users", "/файлы/{name}", "/files/a.js", "/" + "deep/" * 60,
    "/weird \"quoted\"\n\0/{x}",
)]  # fmt: skip
PATHS = [
    "/", "/items/7", "/orders/1/lines/2", "/users", "/файлы/x", "/files/a.js", "/a" * 900, "", "*", "/\udc80",
    "/%00",
]  # fmt: skip
HOSTS = [b"shop.test", b"127.0.0.1:8000", b"", b"\xff\xfe", "магазин".encode(), b"a" * 300, b"[::1]:80"]
METHODS = ["GET"] * 6 + ["POST", "PUT", "HEAD", "DELETE", "PATCH", "OPTIONS", "get", "PROPFIND", ""]
CLIENTS: list[Any] = [("192.0.2.1", 5000), ("192.0.2.1", 5001), ["::1", 1], None, ("unix:", None), ("a" * 60, 65535),
                      (), ("10.0.0.1", "80"), ("клиент", 1)]  # fmt: skip
STATUSES: list[Any] = [200] * 8 + [201, 204, 302, 304, 400, 404, 418, 500, 503, 599, "200", 99, 0, 1000, True]
TEXTS = [
    "", "done", "price of %s", "naïve ☃", "a\x00b", "\udc80", "x" * 5000, "two\nlines", "%", "{}", "паром",
    "🚢" * 40,
]  # fmt: skip
VALUES: list[Any] = [
    0, -1, 1.5, True, None, "text", b"bytes", ("a", 1), {"key": "value"}, 10**30, "\udc80", float("nan"),
]  # fmt: skip
CALL_TAGS = [(), (("db.type", "PostgreSQL"),), (("db.statement", "SELECT 1"), ("имя", "☃"), ("long", "x" * 2048))]
STATEMENTS: list[Any] = [
    "SELECT 1", "INSERT INTO заказы VALUES (1)", "COMMIT", "SELECT a FROM b -- " + "x" * 2000, b"SELECT 2", "", None, 7,
]  # fmt: skip
ENDS = ["/items/7.html", "/x.svg"]
_TRACE, _SEGMENT = "0123456789abcdef" * 2, "fedcba9876543210" * 2


def _carrier(dice: Random) -> Carrier:
    return Carrier(
        dice.random() < 0.9,
        dice.choice([_TRACE, f"{dice.getrandbits(128):032x}", "trace.1.2", "след", "t" * 500]),
        dice.choice([_SEGMENT, f"{dice.getrandbits(128):032x}", "segment-1"]),
        dice.choice([0, 1, 7, 99999]),
        dice.choice(["web", "cart", "лавка", "s" * 300]),
        dice.choice(["web-1", "web-2"]),
        dice.choice(["GET:/cart", "/", "e" * 400]),
        dice.choice(["shop:80", "127.0.0.1:8000"]),
    )


def sw8(dice: Random) -> bytes:
    """A caller's header: mostly well-formed."""
    header = format_sw8(_carrier(dice)).encode()
    spoilt = dice.random()
    if spoilt < 0.1:
        place = dice.randrange(len(header))
        return header[:place] + bytes([dice.randrange(256)]) + header[place + 1 :]
    if spoilt < 0.15:
        return dice.choice([b"", b"1", b"1-", b"-" * 7, header[:-5], header + b"-x", b"x" * 5000])
    return header


def traceparent(dice: Random) -> bytes:
    """The header of the W3C's Trace Context: mostly well-formed."""
    if dice.random() < 0.2:
        return dice.choice([b"", b"00-", b"ff-" + b"1" * 32 + b"-" + b"2" * 16 + b"-01", b"00-" + b"0" * 32 + b"-x-01"])
    flags = dice.choice([b"00", b"01", b"01", b"03"])
    return b"00-%032x-%016x-%s" % (dice.getrandbits(128) or 1, dice.getrandbits(64) or 1, flags)


def headers(dice: Random) -> Any:
    """Of a request, as servers write them, and now and then as none does."""
    found: list[Any] = [(b"host", dice.choice(HOSTS) if dice.random() < 0.2 else HOSTS[0])]
    found += [(b"accept", b"*/*")] * dice.randrange(3)
    if dice.random() < 0.3:
        found.append((b"sw8", sw8(dice)))
        if dice.random() < 0.3:
            correlation = {dice.choice("abc"): dice.choice(TEXTS)[:100] for _ in range(dice.randrange(4))}
            found.append((b"sw8-correlation", format_correlation(correlation).encode()))
    if dice.random() < 0.1:
        found.append((b"traceparent", traceparent(dice)))
        found += [(b"tracestate", dice.choice([b"a=1", b"", b"x" * 600]))] * dice.randrange(3)
    if dice.random() < 0.03:
        found.append(dice.choice([(b"sw8", sw8(dice)), (b"host", b"second"), (b"traceparent", traceparent(dice))]))
    dice.shuffle(found)
    oddity = dice.random()
    if oddity < 0.02:
        return dice.choice([(), None, [b"host"], [(b"host",)], [("host", "text")], [(b"host", b"a", b"b")], 7])
    return tuple(found) if oddity < 0.1 else [list(each) for each in found] if oddity < 0.2 else found


def plain_scope(dice: Random) -> dict[str, Any]:
    """Of a request like most: it may be rendered from a template."""
    drawn = scope(Random(1)) | {
        "type": "http", "method": dice.choice(["GET", "POST"]), "scheme": "http", "path": dice.choice(PATHS[:3]),
        "root_path": "", "headers": [(b"host", HOSTS[0])], "client": dice.choice(CLIENTS[:2]),
    }  # fmt: skip
    if dice.random() < 0.3:
        drawn["headers"].append((b"sw8", format_sw8(_plain_carrier(dice)).encode()))
    if dice.random() < 0.05:
        drawn["headers"].append((b"traceparent", traceparent(dice)))
    return drawn


def _plain_carrier(dice: Random) -> Carrier:
    trace, segment = f"{dice.getrandbits(128):032x}", f"{dice.getrandbits(128):032x}"
    return Carrier(dice.random() < 0.95, trace, segment, dice.randrange(3), "web", "web-1", "GET:/cart", "shop:80")


def scope(dice: Random) -> dict[str, Any]:
    """Of a request: mostly as uvicorn makes it, and now and then as no server does."""
    kind = "websocket" if dice.random() < 0.08 else "http"
    drawn: dict[str, Any] = {
        "type": kind,
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "scheme": dice.choice(["http"] * 8 + ["https", "ws", "", "ftp"]),
        "path": dice.choice(PATHS[:4]) if dice.random() < 0.8 else dice.choice([*PATHS, *ENDS]),
        "query_string": dice.choice([b"", b"token=secret", b"\xff"]),
        "root_path": dice.choice(["", "", "/api"]),
        "headers": headers(dice),
        "client": dice.choice(CLIENTS[:2]) if dice.random() < 0.8 else dice.choice(CLIENTS),
        "server": dice.choice([("192.0.2.2", 80), None, ["::1", None]]),
    }
    if kind == "http":
        drawn["method"] = dice.choice(METHODS)
    else:
        drawn |= {"scheme": dice.choice(["ws", "wss"]), "subprotocols": []}
    if dice.random() < 0.03:
        # against the specification
        name = dice.choice(["path", "method", "scheme", "headers", "client", "server"])
        if dice.random() < 0.5:
            drawn.pop(name, None)
        else:
            drawn[name] = dice.choice([None, 7, b"bytes", "\udc80", ["x"], ("a", "b", "c")])
    return drawn


class FastAPI:
    """By its name, as the framework's application is known."""


APP = FastAPI()


def plain_route(dice: Random, drawn: dict[str, Any]) -> None:
    """As FastAPI's router writes it, or Starlette's."""
    drawn["route"], drawn["endpoint"], drawn["router"] = dice.choice(ROUTES[:3]), route, route
    if dice.random() < 0.8:
        drawn["app"] = APP
        if dice.random() < 0.5:
            context = dice.choice([None, dice.choice(ROUTES[:3])])
            drawn |= {"app_root_path": "", "fastapi": {"effective_route_context": context}}


def route(dice: Random, drawn: dict[str, Any]) -> None:
    """The entries that a router writes into the scope, of several frameworks."""
    chosen = dice.random()
    if chosen < 0.6:
        drawn["route"] = dice.choice(ROUTES[:4]) if dice.random() < 0.8 else dice.choice(ROUTES)
        drawn["endpoint"] = drawn["router"] = drawn
        if dice.random() < 0.5:
            drawn["app"] = APP
        if dice.random() < 0.3:
            drawn |= {"app_root_path": drawn.get("root_path"), "path_params": {"id": 7}}
            if dice.random() < 0.5:
                drawn["root_path"] = f"{drawn.get('root_path')}/mounted/7"
    elif chosen < 0.7:
        drawn["router"] = drawn  # unmatched
    elif chosen < 0.75:
        drawn["path_template"] = dice.choice(["/litestar/{id:int}", "", 7])
    elif chosen < 0.78:
        drawn["route"] = dice.choice([None, object(), SimpleNamespace(path=None), _Failing()])


class _Failing:
    @property
    def path(self) -> str:
        raise ValueError("no path")


def environ(dice: Random) -> dict[str, Any]:
    """Of a request of WSGI."""
    drawn: dict[str, Any] = {"HTTP_SW8": sw8(dice).decode("latin-1")} if dice.random() < 0.3 else {}
    setup_testing_defaults(drawn)
    return drawn | {
        "PATH_INFO": dice.choice(PATHS[:4]), "REQUEST_METHOD": dice.choice(METHODS[:8]), "HTTP_HOST": "shop.test",
        "REMOTE_ADDR": "192.0.2.1", "REMOTE_PORT": "5000",
    }  # fmt: skip


def settings(dice: Random) -> dict[str, Any]:
    """Of one agent: mostly the defaults, with every request's time split now and then."""
    drawn: dict[str, Any] = {
        "service": "shop", "instance": "shop-1", "loop_block_limit": 0, "meter_reporter_active": False,
        "event_reporter_active": False, "profile_active": False,
        "log_reporter_level": dice.choice(["INFO", "INFO", "WARNING", "DEBUG"]),
        "time_split_every": dice.choice([0, 1, 1, 3]), "task_tree_every": dice.choice([0, 0, 1, 5]),
    }  # fmt: skip
    rare: dict[str, Any] = {
        "log_reporter_formatted": False, "log_reporter_safe_mode": True, "log_reporter_ignore_filter": True,
        "log_reporter_layout": "%(levelname)s %(name)s %(tid)s %(message)s", "cause_exception_depth": 0,
        "propagate_traceparent": False, "http_url_real_path": True, "endpoint_style": "path", "span_limit": 3,
        "endpoint_limit": 3, "peer_limit": 2, "sample_n_per_3_secs": 5, "trace_max_buffer_size": 20,
        "log_reporter_max_buffer_size": 20, "trust_incoming": False, "trace_ignore_path": ("/**/7",),
        "propagate_to": ("10.0.0.1",), "correlation_element_max_number": 1, "propagate_threads": True,
    }  # fmt: skip
    return drawn | {name: value for name, value in rare.items() if dice.random() < 0.04}
