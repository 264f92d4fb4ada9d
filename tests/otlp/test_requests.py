"""What goes out over each transport of OTLP: requests, resources and headers."""

from __future__ import annotations

import anyio
import pytest

from kit.h2_peer import H2Peer
from kit.otlp import METHODS, PATHS, attributes_of, requests_of
from otlp.clients import TRANSPORTS, Client, client_of
from otlp.samples import numbered, segment
from swagent.abc import Instance
from swagent.config import Config
from swagent.config.options import Secret
from swagent.runtime.transport_choice import find_transport
from swagent_transports._otlp_export import TRACES, Exporter

pytestmark = pytest.mark.anyio

PROPERTIES = {
    "language": "python", "OS Name": "Linux", "Process No.": "4711", "hostname": "pod-1", "ipv4": "10.0.0.2",
    "python_implementation": "CPython", "python_version": "3.13.1", "namespace": "test",
    "deployment.environment.name": "staging",
}  # fmt: skip


def headers_of(client: Client) -> dict[str, str]:
    call = client.peer.calls[-1]
    if isinstance(client.peer, H2Peer):
        return {name.decode(): value.decode() for name, value in call.headers.items()}
    return dict(call.headers)


@pytest.mark.parametrize("protocol", TRANSPORTS)
def test_it_is_chosen_by_its_name(protocol: str) -> None:
    assert find_transport(Config(service="shop", protocol=protocol)) is TRANSPORTS[protocol]


@pytest.mark.parametrize("protocol", TRANSPORTS)
async def test_a_batch_is_one_request_with_a_resource_for_each_instance(protocol: str) -> None:
    async with client_of(protocol) as client:
        await client.run(client.transport.report_properties, Instance("shop|test", "shop-1", tuple(PROPERTIES.items())))
        (probe,) = requests_of(client.peer)
        assert not probe.resource_spans, "the probe holds nothing"
        other = segment(segment_id="cd" * 16, service="cart", instance="cart-1")
        ours = [segment(segment_id=f"{number:032x}", service="shop|test") for number in (1, 2)]
        assert await client.verdict(ours[0], other, ours[1]) is None
        request = requests_of(client.peer)[-1]
        assert [len(each.scope_spans[0].spans) for each in request.resource_spans] == [2, 1]
        shop, cart = request.resource_spans
        assert attributes_of(cart.resource)["service.name"] == "cart"
        assert attributes_of(shop.resource) == {
            "service.name": "shop",
            "service.namespace": "test",
            "service.instance.id": "shop-1",
            "telemetry.sdk.name": "swagent",
            "telemetry.sdk.language": "python",
            "telemetry.sdk.version": shop.scope_spans[0].scope.version,
            "os.type": "linux",
            "process.pid": 4711,
            "host.name": "pod-1",
            "host.ip": "10.0.0.2",
            "process.runtime.name": "cpython",
            "process.runtime.version": "3.13.1",
            "deployment.environment.name": "staging",
        }
        assert shop.schema_url == "https://opentelemetry.io/schemas/1.37.0"
        assert shop.scope_spans[0].scope.name == "swagent"


@pytest.mark.parametrize("protocol", TRANSPORTS)
async def test_where_it_goes_and_with_which_headers(protocol: str) -> None:
    named = Secret("X-Scope-OrgID=shop, x-key=a%20b")
    async with client_of(protocol, authentication=Secret("sesame"), otlp_headers=named) as client:
        assert await client.verdict(numbered(1)) is None
        headers = headers_of(client)
        own = [headers[name] for name in ("authorization", "x-scope-orgid", "x-key")]
        assert own == ["Bearer sesame", "shop", "a b"]
        if protocol == "otlp":
            assert (headers[":path"], headers["content-type"]) == (METHODS["traces"], "application/grpc")
        else:
            assert (client.peer.calls[-1].path, headers["content-type"]) == (PATHS["traces"], "application/x-protobuf")
    named = Secret("Authorization=Basic%20YQ==")
    async with client_of(protocol, authentication=Secret("x"), otlp_headers=named) as client:
        assert await client.verdict(numbered(1)) is None
        assert headers_of(client)["authorization"] == "Basic YQ==", "the user's own wins"


async def test_a_path_goes_before_the_signals() -> None:
    async with client_of("otlp-http", otlp_path="/otlp/") as client:
        assert await client.verdict(numbered(1)) is None
        assert client.peer.calls[-1].path == "/otlp/v1/traces"


async def test_a_large_batch_is_translated_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop's other tasks get their turn, since the loop may be the application's."""
    turns = 0
    over = anyio.Event()

    async def count() -> None:
        nonlocal turns
        while not over.is_set():
            turns += 1
            await anyio.lowlevel.checkpoint()

    clock = iter(range(10_000))
    monkeypatch.setattr(
        "swagent_transports._otlp_export.time.monotonic", lambda: next(clock) * 0.001
    )  # a millisecond a look
    async with anyio.create_task_group() as group:
        group.start_soon(count)
        await Exporter().request(TRACES, [numbered(number) for number in range(300)])
        over.set()
    assert turns >= 60
