"""The private names of uvicorn and grpclib that the collector uses. A failure names the change, to be looked at in
`http_server.py`, `http_protocol.py` and `intake/` before another version is let in."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import grpclib.protocol
import grpclib.server
import h11
import pytest
import uvicorn
import uvicorn.server
from packaging.requirements import Requirement
from packaging.version import Version
from uvicorn.protocols.http.h11_impl import H11Protocol

from house.project import PROJECT
from swagent.collector.http_protocol import BoundedProtocol
from swagent.collector.http_server import _Server
from swagent.collector.intake.connections import TrackingServer, _Protocol

LOOKED_AT = {"uvicorn": ("0.32", "0.55"), "grpclib": ("0.4.9", "0.5")}
OWN = {"_watch", "_relax", "end", "stop"}


def parameters(function: Callable[..., Any]) -> list[str]:
    return list(inspect.signature(function).parameters)


@pytest.mark.parametrize("name", LOOKED_AT)
def test_the_installed_version_was_looked_at(name: str) -> None:
    low, high = map(Version, LOOKED_AT[name])
    assert low <= Version(version(name)) < high, f"only {name} {low} to below {high} was looked at"


@pytest.mark.parametrize("name", LOOKED_AT)
def test_the_extra_has_bounds(name: str) -> None:
    needed = map(Requirement, PROJECT["project"]["optional-dependencies"]["collector"])
    (bounds,) = (each.specifier for each in needed if each.name == name)
    assert {part.operator for part in bounds} == {">=", "<"}
    assert Version(LOOKED_AT[name][0]) in bounds


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (_Server, uvicorn.Server), (BoundedProtocol, H11Protocol), (_Protocol, grpclib.protocol.H2Protocol),
        (TrackingServer, grpclib.server.Server),
    ],
)  # fmt: skip
def test_every_method_that_is_overridden_is_there(ours: type, theirs: type) -> None:
    for name, member in vars(ours).items():
        if inspect.isfunction(member) and name not in OWN:
            assert hasattr(theirs, name), f"{theirs.__name__}.{name} is gone: that of {ours.__name__} is never called"


SIGNATURES: dict[Callable[..., Any], list[str]] = {
    uvicorn.Server.serve: ["self", "sockets"],
    uvicorn.Server.main_loop: ["self"],
    uvicorn.Server.on_tick: ["self", "counter"],
    uvicorn.Server.capture_signals: ["self"],
    H11Protocol.connection_made: ["self", "transport"],
    H11Protocol.connection_lost: ["self", "exc"],
    H11Protocol.data_received: ["self", "data"],
    grpclib.server.Server._protocol_factory: ["self"],
    grpclib.protocol.H2Protocol.__init__: ["self", "handler", "config", "h2_config"],
    grpclib.protocol.H2Protocol.connection_made: ["self", "transport"],
    grpclib.protocol.H2Protocol.connection_lost: ["self", "exc"],
}


@pytest.mark.parametrize("function", SIGNATURES, ids=lambda each: each.__qualname__)
def test_signature(function: Callable[..., Any]) -> None:
    assert parameters(function) == SIGNATURES[function]


@pytest.mark.parametrize(
    ("owner", "names"),
    [
        (uvicorn.Server, ["servers", "should_exit", "server_state"]),
        (uvicorn.server.ServerState, ["tasks", "connections"]),
        (H11Protocol, ["connections", "conn", "transport"]),
        (grpclib.server.Server, ["_server"]),
        (grpclib.protocol.H2Protocol, ["handler", "config", "h2_config", "processor"]),
        (grpclib.protocol.EventsProcessor, ["processors"]),
        (grpclib.protocol.Stream, ["buffer"]),
        (grpclib.protocol.Buffer, ["_unacked", "_ack_callback", "_eof"]),
    ],
    ids=lambda each: getattr(each, "__qualname__", ""),
)
def test_attributes_are_set(owner: type, names: list[str]) -> None:
    source = inspect.getsource(owner)
    for name in names:
        assert re.search(rf"\bself\.{name}\b[^=\n]*=", source), f"{owner.__qualname__}.{name} is gone"


def test_the_server_waits_in_its_main_loop_between_start_and_shutdown() -> None:
    source = inspect.getsource(uvicorn.Server)
    places = [source.find(f"await self.{name}(") for name in ("startup", "main_loop", "shutdown")]
    assert -1 not in places
    assert places == sorted(places)
    assert "with self.capture_signals():" in source


def test_the_tick_makes_the_date() -> None:
    assert '"date"' in inspect.getsource(uvicorn.Server.on_tick).replace("b'", '"').replace('b"', '"')


def test_h11_says_what_of_a_request_has_come() -> None:
    connection = h11.Connection(h11.SERVER)
    connection.receive_data(b"GET / HT")
    assert connection.next_event() is h11.NEED_DATA
    assert connection.their_state is h11.IDLE
    assert connection.trailing_data[0] == b"GET / HT"
