"""`swagent doctor` says what is configured, what works, and what to do about the rest."""

from __future__ import annotations

import os
from importlib.metadata import version
from pathlib import Path

import pytest

from cli.conftest import Run
from kit import answers
from kit.h2_peer import Call, H2Peer, message
from kit.servers import Parrot, dead_address
from swagent.collector.server import Collector
from swagent_proto.messages import Command, Commands, KeyStringValuePair

BACKENDS = ("asyncio", "uvloop", "trio")


@pytest.mark.parametrize("backend", BACKENDS)
def test_all_is_well_with_a_collector_that_takes_the_token(swagent: Run, collector: Collector, backend: str) -> None:
    result = swagent(
        "doctor",
        SW_AGENT_NAME="shop",
        SW_AGENT_BACKEND=backend,
        SW_AGENT_AUTHENTICATION="sesame",
        SW_AGENT_COLLECTOR_BACKEND_SERVICES=collector.address,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert f"{collector.address} took a heartbeat of 'shop'" in result.stdout
    assert f" by betterproto {version('betterproto')}, grpclib {version('grpclib')}" in result.stdout
    assert f", h2 {version('h2')}" in result.stdout
    assert [beat.service for beat in collector.store.instances] == ["shop"]


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("5", "• it sets sample_n_per_3_secs to 5 at run time"),
        ("x", "! its settings for this service are not followed: agent.sample_n_per_3_secs is no whole number"),
    ],
)
def test_it_says_what_the_collector_sets_at_run_time(swagent: Run, setting: str, said: str) -> None:
    pairs = [KeyStringValuePair("UUID", "u"), KeyStringValuePair("agent.sample_n_per_3_secs", setting)]
    command = bytes(Commands([Command("ConfigurationDiscoveryCommand", pairs)]))

    async def behave(call: Call) -> None:
        is_asked = call.headers[b":path"].endswith(b"/fetchConfigurations")
        await (answers.reply(message(command)) if is_asked else answers.confirm)(call)

    with H2Peer(behave) as peer:
        asking = swagent("doctor", SW_AGENT_COLLECTOR_BACKEND_SERVICES=peer.address)
        off = {"SW_AGENT_COLLECTOR_GET_AGENT_DYNAMIC_CONFIG_INTERVAL": "0"}
        silent = swagent("doctor", SW_AGENT_COLLECTOR_BACKEND_SERVICES=peer.address, **off)
    assert (asking.returncode, silent.returncode) == (0, 0)
    assert said in asking.stdout.splitlines()
    assert said not in silent.stdout


def test_it_says_where_each_value_comes_from_and_shows_no_secret(swagent: Run, collector: Collector) -> None:
    result = swagent("doctor", "--no-network", SW_AGENT_NAME="shop", SW_AGENT_AUTHENTICATION="sesame")
    lines = {line.split()[0]: line for line in result.stdout.splitlines() if line}
    assert lines["service"].endswith("shop  (from SW_AGENT_NAME)")
    assert lines["protocol"].endswith("grpc  (default)")
    assert lines["authentication"].endswith("*** (set)  (from SW_AGENT_AUTHENTICATION)")
    assert "sesame" not in result.stdout
    assert collector.store.instances == []
    assert result.returncode == 0


def test_it_shows_the_defaults_that_swagent_run_has(swagent: Run) -> None:
    result = swagent("doctor", "--no-network", SW_AGENT_COLLECTOR_BACKEND_SERVICES="127.0.0.1:9")
    lines = {line.split()[0]: line for line in result.stdout.splitlines() if line}
    assert lines["propagate_threads"].endswith("True  (default of swagent run)")
    assert lines["get_profile_task_interval"].endswith("  (default of swagent run)")
    given = swagent("doctor", "--no-network", SW_AGENT_PROPAGATE_THREADS="false")
    assert "False  (from SW_AGENT_PROPAGATE_THREADS)" in given.stdout


def test_it_says_what_records_and_what_is_left_out_and_why(swagent: Run) -> None:
    result = swagent(
        "doctor", "--no-network", SW_AGENT_QUEUE_TIMEOUT="1", SW_PLUGIN_NEW_THING="512", SW_AGENT_NATIVE="off",
        SW_AGENT_DISABLE_PLUGINS="sw_http_server,opentelemetry",
    )  # fmt: skip
    lines = result.stdout.splitlines()
    assert "Requests, logs and spans are recorded by Python (SW_AGENT_NATIVE is off)." in lines
    assert any(line.startswith("SW_AGENT_QUEUE_TIMEOUT: ") for line in lines)
    assert "SW_PLUGIN_NEW_THING: no instrumentation here has such a setting" in lines
    assert "the bridge is switched off by SW_AGENT_DISABLE_PLUGINS" in result.stdout
    states = {line.split()[0]: " ".join(line.split()[1:]) for line in lines if line}
    assert states["http_server"] == "switched off: by SW_AGENT_DISABLE_PLUGINS: sw_http_server"
    assert states["wsgiref"] == states["httpx"] == "native"


def test_it_says_which_file_a_setting_comes_from(swagent: Run, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.swagent]\nservice = "shop"\nnamespace = "file"')
    result = swagent("doctor", "--no-network", SW_AGENT_NAMESPACE="variable")
    lines = {line.split()[0]: line for line in result.stdout.splitlines() if line}
    assert lines["service"].endswith("shop  (from pyproject.toml [tool.swagent]: service)")
    assert lines["namespace"].endswith("variable  (from SW_AGENT_NAMESPACE)")
    settings = swagent("config").stdout
    assert "SW_AGENT_NAME (in code: service)" in settings
    assert settings.count("set here by pyproject.toml [tool.swagent]: service") == 1


@pytest.mark.parametrize(
    ("variable", "status"),
    [("SW_AGENT_COLLECTOR_BACKEND_SERVICES", 2), ("SW_KAFKA_BOOTSTRAP_SERVERS", 2), ("SW_AGENT_PROPAGATE_TO", 0)],
)
def test_it_shows_no_credentials_of_an_address(swagent: Run, variable: str, status: int) -> None:
    result = swagent("doctor", "--no-network", **{variable: "user:hunter2@host"})
    assert result.returncode == status
    assert "***@host" in result.stdout
    assert "hunter2" not in result.stdout + result.stderr


@pytest.mark.parametrize(
    ("folder", "at", "sentence"),
    [
        ("apache_skywalking-1.2.0.dist-info", ".", "the official agent (apache-skywalking 1.2.0) is installed"),
        ("skywalking/bootstrap/loader", None, "sw-python starts the official agent in this environment."),
        (
            "opentelemetry/instrumentation/auto_instrumentation", None,
            "opentelemetry-instrument starts OpenTelemetry's agent in this environment.",
        ),
    ],
    ids=["installed", "sw-python", "opentelemetry"],
)  # fmt: skip
def test_it_names_another_agent_here(swagent: Run, tmp_path: Path, folder: str, at: str | None, sentence: str) -> None:
    (tmp_path / folder).mkdir(parents=True)
    (tmp_path / folder / "METADATA").write_text("Metadata-Version: 2.1\nName: apache-skywalking\nVersion: 1.2.0\n")
    path = os.pathsep.join(["/nowhere", str(tmp_path / (at or folder))])
    result = swagent("doctor", "--no-network", PYTHONPATH=path)
    assert (result.returncode, result.stdout.count("! ")) == (0, 1)
    assert f"! {sentence}" in result.stdout


def test_it_knows_of_no_other_agent_where_none_is(swagent: Run) -> None:
    said = swagent("doctor", "--no-network").stdout
    assert "!" not in said
    assert "without a meaning" not in said


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"SW_AGENT_AUTHENTICATION": "wrong"}, "the token is refused"),
        ({"SW_AGENT_FORCE_TLS": "true", "SW_AGENT_REQUEST_TIMEOUT": "1"}, "perhaps it does not speak TLS"),
        (
            {"SW_AGENT_COLLECTOR_BACKEND_SERVICES": "nosuchhost.invalid:11800"},
            "the host name cannot be resolved",
        ),
    ],
    ids=["a refused token", "TLS to a plaintext port", "no such host"],
)  # fmt: skip
def test_a_cause_is_named(swagent: Run, collector: Collector, options: dict[str, str], sentence: str) -> None:
    result = swagent("doctor", **{"SW_AGENT_COLLECTOR_BACKEND_SERVICES": collector.address, **options})
    assert result.returncode == 1
    assert sentence in result.stdout
    assert ("SW_AGENT_AUTHENTICATION" in result.stdout) or "wrong" not in options.values()


def test_a_peer_of_another_protocol_is_named(swagent: Run) -> None:
    with Parrot(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n") as parrot:
        result = swagent("doctor", SW_AGENT_COLLECTOR_BACKEND_SERVICES=parrot.address, SW_AGENT_REQUEST_TIMEOUT="1")
    assert result.returncode == 1
    assert "perhaps it is the port of another protocol" in result.stdout


def test_one_bad_collector_of_several_fails_the_examination(swagent: Run, collector: Collector) -> None:
    with dead_address() as address:
        both = f"{collector.address},{address}"
        result = swagent("doctor", SW_AGENT_COLLECTOR_BACKEND_SERVICES=both, SW_AGENT_AUTHENTICATION="sesame")
    assert result.returncode == 1
    assert f"✓ {collector.address} took a heartbeat" in result.stdout
    assert f"✗ {address}: the connection is refused" in result.stdout


@pytest.mark.parametrize(
    ("variable", "value"),
    [("SW_AGENT_PROTOCOL", "pigeon"), ("SW_AGENT_BACKEND", "twisted"), ("SW_AGENT_COLLECTOR_BACKEND_SERVICES", "oap")],
)
def test_a_wrong_setting_is_named_with_what_is_allowed(swagent: Run, variable: str, value: str) -> None:
    result = swagent("doctor", **{variable: value})
    assert result.returncode == 2
    assert f"✗ {variable}={value!r} cannot be used; allowed: " in result.stdout
