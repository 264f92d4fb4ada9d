"""Requests as they leave: paths, headers, bytes; and the parts of the environment that have no effect on them."""

from __future__ import annotations

import gc
import json
import sys
from types import FrameType
from typing import Any

import httpx
import pytest

from kit.each import http_client
from kit.http_answers import confirm, status
from kit.http_peer import HttpPeer
from swagent.abc import Instance
from swagent.config import Config
from swagent.config.options import Address
from swagent.errors import ConfigError, RejectedError
from swagent.signals import Signal
from swagent_transports._http_exchange import Exchange
from swagent_transports.http import HttpTransport

pytestmark = pytest.mark.anyio

INSTANCE = Instance("shöp", 'one"1', (("language", "python"), ("mood", "line\nbreak ☂ 😀"), ("language", "twice")))


@pytest.mark.one_loop
@pytest.mark.parametrize(
    ("signal", "path"), [(Signal.SEGMENT, "/v3/segments"), (Signal.LOG, "/v3/logs"), (Signal.EVENT, "/v3/events")]
)
async def test_batch_is_one_array_in_order(signal: Signal, path: str) -> None:
    records = [json.dumps({"n": number, "text": 'ü" \u2028 😀'}, ensure_ascii=False).encode() for number in range(50)]
    with HttpPeer(confirm) as peer:
        async with http_client(peer.address) as client:
            await client.transport.send(signal, records)
            await client.transport.send(signal, records[:1])
            await client.transport.send(signal, ())
        call, single, empty = peer.calls
    assert (call.method, call.path) == ("POST", path)
    assert bytes(call.body) == b"[" + b",".join(records) + b"]"
    assert [each["n"] for each in call.json] == list(range(50))
    assert bytes(single.body) == b"[" + records[0] + b"]"
    assert bytes(empty.body) == b"[]"


async def test_management() -> None:
    with HttpPeer(confirm) as peer:
        async with http_client(peer.address) as client:
            await client.transport.report_properties(INSTANCE)
            await client.transport.keep_alive(INSTANCE)
        properties, ping = peer.calls
    assert (properties.method, properties.path) == ("POST", "/v3/management/reportProperties")
    assert properties.json == {
        "service": INSTANCE.service,
        "serviceInstance": INSTANCE.name,
        "properties": [{"key": key, "value": value} for key, value in INSTANCE.properties],
    }
    assert (ping.method, ping.path) == ("POST", "/v3/management/keepAlive")
    assert ping.json == {"service": INSTANCE.service, "serviceInstance": INSTANCE.name}


async def test_management_has_verdicts_too() -> None:
    with HttpPeer(status(404)) as peer:
        async with http_client(peer.address) as client:
            with pytest.raises(RejectedError):
                await client.transport.report_properties(INSTANCE)
            with pytest.raises(RejectedError):
                await client.transport.keep_alive(INSTANCE)


async def test_headers_are_these_and_no_others() -> None:
    with HttpPeer(confirm) as peer:
        async with http_client(peer.address) as client:
            await client.send(b"{}")
        async with http_client(peer.address, authentication="s3cret ~token~") as client:
            await client.send(b"{}")
            assert "s3cret" not in f"{client.transport} {client.transport!r}"
        plain, authentic = peer.calls
    expected = {"host": peer.address, "content-type": "application/json", "accept-encoding": "identity",
                "content-length": "4"}  # fmt: skip
    assert plain.headers == expected
    assert authentic.headers == {**expected, "authentication": "s3cret ~token~"}


@pytest.mark.parametrize("host", ["xn--\N{BULLET}", "\N{CJK COMPATIBILITY IDEOGRAPH-F900}\N{SOFT HYPHEN}..x"])
def test_host_that_no_url_can_name_is_said_at_start(host: str) -> None:
    with pytest.raises(ConfigError) as caught:
        HttpTransport(Config(service="checked"), Address(host, 12800, tls=False))
    assert caught.value.name == "collector"


async def test_batch_is_let_go_of_once_it_is_written() -> None:
    # httpcore keeps the request, and so its body, until the answer has come
    content = bytes(100)
    before = sys.getrefcount(content)
    exchange = Exchange(httpx.URL("http://127.0.0.1:1/"), {}, content)
    assert sys.getrefcount(content) == before + 1
    stream: Any = exchange._request.stream
    assert [len(piece) async for piece in stream] == [100]
    assert exchange.is_sent
    assert sys.getrefcount(content) == before


async def test_a_confirmed_batch_leaves_nothing_to_the_garbage_collector() -> None:
    """Or each batch brings the application nearer to a full collection, which takes as long as hundreds of requests."""
    with HttpPeer(confirm) as peer:
        async with http_client(peer.address) as client:
            await client.send()  # what is made once
            gc.collect()
            gc.disable()
            try:
                await client.send()
                gc.set_debug(gc.DEBUG_SAVEALL)
                gc.collect()
                left = {_origin(each) for each in gc.garbage}
            finally:
                gc.set_debug(0)
                gc.garbage.clear()
                gc.enable()
    assert not {each for each in left if each.startswith(("swagent", "httpx", "httpcore", "anyio", "/"))}


def _origin(found: object) -> str:
    """Where an object's kind comes from; of a frame, which of our files it ran."""
    if isinstance(found, FrameType):
        path = found.f_code.co_filename
        return path if "swagent_transports" in path else ""
    return type(found).__module__
