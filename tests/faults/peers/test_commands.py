"""Collectors that answer with commands. With a report's answer the agent takes none: whatever it says, it is capped and
dropped. In the answers to its own questions it takes profile tasks and four settings, and nothing else."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import SimpleNamespace
from typing import Any

import pytest

from faults.covering import each_cell
from kit import answers, http_answers
from kit.client import Sender
from kit.each import CLIENTS
from kit.h2_peer import H2Peer, message
from kit.http_peer import HttpPeer
from kit.memory import MIB, takes_at_most
from swagent import Config
from swagent.abc import Instance, parse_address
from swagent.errors import AmbiguousError, DeliveryError
from swagent.profile.profiler import Profiler
from swagent.profile.sampler import Limits
from swagent_proto.messages import Command, Commands, KeyStringValuePair
from swagent_transports.grpc import GrpcTransport

INSTANCE = Instance("shop", "shop@host", ())
PATHS = ("/etc/passwd", "../../../../tmp/x", "C:\\windows\\system32", "\\\\host\\share", "file:///etc/shadow", "a\0b")


def command(name: str, **args: str) -> Command:
    return Command(name, [KeyStringValuePair(key, value) for key, value in args.items()])


def profile(**changes: str) -> Command:
    """A profile task as OAP sends it; in these the numbers are not OAP's."""
    given = {
        "SerialNumber": "1", "TaskId": "1", "EndpointName": "/", "Duration": "5", "MinDurationThreshold": "0",
        "DumpPeriod": "10", "MaxSamplingCount": "5", "StartTime": "0", "CreateTime": "0",
    }  # fmt: skip
    return command("ProfileTaskQuery", **{**given, **changes})


HOSTILE: dict[str, list[Command]] = {
    "unknown": [command("FormatDisk", now="yes"), command(""), command("__import__('os').abort()"), Command()],
    "replayed": [profile()] * 500,
    "a profile of a hundred years": [profile(Duration="52560000", DumpPeriod="0", MaxSamplingCount="2147483647")],
    "numbers that are none": [profile(Duration=text) for text in ("-1", "1e309", "nan", "9" * 5000, "", "٣")],
    "names like paths": [
        each
        for path in PATHS
        for each in (command(path), profile(TaskId=path, EndpointName=path), command("AsyncProfilerTask", TaskId=path))
    ],
    "configuration": [
        command("ConfigurationDiscoveryCommand", UUID="1", SerialNumber="1", **{"agent.logging_level": "DEBUG",
                "collector": "evil.example.org:1", "tls_ca": "", "sample_n_per_3_secs": "0"}),
        command("HotReload", code="import os"), command("EBPFProfiling", TargetType="ON_CPU"),
    ],
    "settings that cannot be": [
        command("ConfigurationDiscoveryCommand", UUID="1", **{f"agent.{name}": text})
        for name, text in {
            "sample_n_per_3_secs": "9" * 5000, "span_limit_per_segment": "nan", "ignore_suffix": "x" * 2000,
            "trace.ignore_path": "**a*" * 100,
        }.items()
    ],
}  # fmt: skip
# Beyond the cap, and written by hand: what the messages' own encoders take for these would be the longest part.
TOO_MUCH = {
    "a million": (b"\x0a\x03\x0a\x01x" * 1_000_000, b'{"commands":[%b]}' % b",".join([b'{"command":"x"}'] * 1_000_000)),
    "one of ten megabytes": (bytes(10 * MIB), b'{"commands":[{"command":"%b"}]}' % (b"x" * 10 * MIB)),
}


def reply_of(transport: str, name: str) -> bytes:
    if name in TOO_MUCH:
        return TOO_MUCH[name][transport == "http"]
    commands = Commands(HOSTILE[name])
    return bytes(commands) if transport == "grpc" else commands.to_json().encode()


@contextmanager
def peer_answering(transport: str, reply: bytes) -> Iterator[str]:
    """The address of a peer whose every reply is this: a protobuf message over gRPC, JSON over HTTP."""
    if transport == "grpc":
        with H2Peer(answers.reply(message(reply))) as grpc_peer:
            yield grpc_peer.address
    else:
        # in slices, or the peer itself would copy all of it
        with HttpPeer(http_answers.raw(http_answers.answer(200, body=reply)), slice=65_536) as http_peer:
            yield http_peer.address


async def outcomes(client: Sender) -> list[type]:
    """A batch, the properties and a heartbeat: what became of each."""
    found = [type(await client.verdict())]
    for report in (client.transport.report_properties, client.transport.keep_alive):
        try:
            await client.run(report, INSTANCE)
        except DeliveryError as error:
            found.append(type(error))
        else:
            found.append(type(None))
    return found


async def answer_to(question: str, name: str, about: object) -> list[Any]:
    """The commands that come of the answer, and no memory."""
    with peer_answering("grpc", reply_of("grpc", name)) as address:
        transport = GrpcTransport(Config(service="shop", request_timeout=2), parse_address(address))
        ask = getattr(transport, question)
        commands: list[Any] = []
        with suppress(DeliveryError):
            await ask(INSTANCE, about)  # connects, and loads what is loaded once
        with suppress(DeliveryError), takes_at_most(2 * MIB, keeps=MIB // 2):
            commands = await ask(INSTANCE, about)
        await transport.aclose()
    return commands


on_asyncio = pytest.mark.parametrize(
    "anyio_backend", [("asyncio", {}), ("asyncio", {"use_uvloop": True})], ids=["asyncio", "uvloop"]
)


@pytest.mark.one_loop
@pytest.mark.anyio
@pytest.mark.parametrize("name", [*HOSTILE, *TOO_MUCH])
@on_asyncio
async def test_nothing_but_a_profile_within_limits_comes_of_an_answer_to_a_question(name: str) -> None:
    watched: list[Any] = []
    tracer: Any = SimpleNamespace(watch_requests=watched.append)
    profiler = Profiler(tracer, Limits(5, 500, 600), watched.append)
    # each of them lies in the past
    assert profiler.choose(await answer_to("profile_commands", name, 0)) is None
    assert profiler.last_command == 0
    assert not watched


@pytest.mark.gate
@pytest.mark.one_loop
@pytest.mark.anyio
@pytest.mark.parametrize("name", [*HOSTILE, *TOO_MUCH])
@each_cell("D04")
async def test_commands_are_ignored(transport: str, name: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    # over gRPC a reply beyond the cap is not read, and so its status is not heard
    verdict = AmbiguousError if transport == "grpc" and name in TOO_MUCH else type(None)
    with peer_answering(transport, reply_of(transport, name)) as address:
        async with CLIENTS[transport](address, request_timeout=5.0) as client:
            await outcomes(client)  # connects, and loads what is loaded once
            with takes_at_most(2 * MIB, keeps=MIB // 2):
                assert await outcomes(client) == [verdict] * 3
    said = [each.getMessage() for each in caplog.records if each.name != "asyncio"]
    assert not said, "a stranger's words go into no log"
