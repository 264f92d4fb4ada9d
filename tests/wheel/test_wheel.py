"""The built wheel, alone in an empty environment: what it lacks, or finds only in the repository, shows here. With the
newest dependencies that there are, and with the oldest that pyproject.toml allows."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.conftest import make
from faults.covering import covers
from faults.matrix import BACKENDS, TRANSPORTS
from kit.http_answers import confirm
from kit.http_peer import HttpPeer
from kit.real.kafka import Kafka
from kit.servers import collector_thread
from wheel.environments import EXTRAS, Environment, build_wheel, lowest_versions

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module", params=["newest", "oldest"])
def environment(request: pytest.FixtureRequest, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    folder = tmp_path_factory.mktemp(request.param) / "venv"
    constraints = lowest_versions() if request.param == "oldest" else []
    environment = Environment(folder, wheel, f"[{','.join(EXTRAS)}]", constraints)
    environment.run(["-m", "pip", "--quiet", "install", "uvloop"])
    for script in ("deliver.py", "collect.py"):
        shutil.copy(HERE / script, folder)
    return environment


@pytest.fixture(scope="module")
def collectors() -> Iterator[dict[str, dict[str, str]]]:
    """For each transport the settings that lead to a collector."""
    with collector_thread() as (collector, _), HttpPeer(confirm) as peer, make(Kafka) as kafka:
        yield {
            "grpc": {"SW_AGENT_COLLECTOR_BACKEND_SERVICES": collector.address},
            "http": {"SW_AGENT_COLLECTOR_BACKEND_SERVICES": peer.address},
            "kafka": {"SW_KAFKA_BOOTSTRAP_SERVERS": kafka.address},
        }


@covers("R01")
@pytest.mark.e2e
@pytest.mark.parametrize("backend", BACKENDS.values())
@pytest.mark.parametrize("transport", TRANSPORTS.values())
def test_the_wheel_delivers(
    environment: Environment, collectors: dict[str, dict[str, str]], transport: str, backend: str
) -> None:
    settings = {"SW_AGENT_PROTOCOL": transport, "SW_AGENT_BACKEND": backend, **collectors[transport]}
    said = environment.run(["deliver.py"], settings)
    assert said.startswith("segment: offered 1, accepted 1, confirmed 1, queued 0"), said


def test_the_accelerator_is_not_in_it(wheel: Path) -> None:
    assert [name for name in zipfile.ZipFile(wheel).namelist() if "native" in name] == []


def test_the_collector_of_the_wheel(environment: Environment) -> None:
    assert environment.run(["collect.py"]) == "200 ('grpc', 1) ('http', 1)\n"


def test_without_any_extra_it_imports_and_names_what_is_missing(wheel: Path, tmp_path: Path) -> None:
    bare = Environment(tmp_path / "venv", wheel, "")
    said = bare.run(
        [
            "-c",
            "import swagent, swagent.asgi, swagent.meters\n"
            "try: swagent.start(swagent.Config(service='x'))\n"
            "except swagent.ConfigError as error: print(error)",
        ]
    )
    assert "swagent[grpc]" in said
