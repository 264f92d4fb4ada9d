"""The private names of uvicorn and grpclib that the collector uses. A failure names the change, to be looked at in
`http_server.py`, `http_protocol.py` and `intake/` before another version is let in."""

from __future__ import annotations

import inspect
from importlib.metadata import version

import grpclib.protocol
import grpclib.server
import pytest
import uvicorn
import uvicorn.server
from packaging.version import Version
from uvicorn.protocols.http.h11_impl import H11Protocol

from swagent.collector.http_protocol import BoundedProtocol
from swagent.collector.http_server import _Server
from swagent.collector.intake.connections import TrackingServer, _Protocol

LOOKED_AT = {"uvicorn": ("0.32", "0.55"), "grpclib": ("0.4.9", "0.5")}
OWN = {"_watch", "_relax", "end", "stop"}


@pytest.mark.parametrize("name", LOOKED_AT)
def test_the_installed_version_was_looked_at(name: str) -> None:
    low, high = map(Version, LOOKED_AT[name])
    assert low <= Version(version(name)) < high, f"only {name} {low} to below {high} was looked at"


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


def test_the_tick_makes_the_date() -> None:
    assert '"date"' in inspect.getsource(uvicorn.Server.on_tick).replace("b'", '"').replace('b"', '"')
