"""Twenty random faults in a row, under load, on every transport and every loop; and some while each request calls a
dozen libraries. The seed is in the output."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from e2e.fixtures import make
from faults.covering import each_cell
from kit.real.databases import Mariadb, Postgres
from kit.real.kafka import Kafka
from kit.real.rabbitmq import RabbitMQ
from kit.real.redis import Redis
from kit.seeds import session_seed

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]
FAULTS = 20
MINUTES, EVERY = 3, 9


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """One run of all nine applications; each test looks at one of them."""
    make(Kafka).close()  # skips, or fails, where a broker cannot run
    verdict = tmp_path_factory.mktemp("soak") / "verdict.json"
    return soak(verdict, "--minutes", str(MINUTES), "--fault-every", str(EVERY))


def soak(verdict: Path, *arguments: str) -> Mapping[str, Any]:
    """Run it; returns the verdict."""
    command = [sys.executable, "-m", "stress", "soak", "--seed", str(session_seed()), "--json", str(verdict)]
    command += arguments
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    print(done.stdout)
    assert verdict.exists(), "the soak came to no verdict"
    found: dict[str, Any] = json.loads(verdict.read_text())
    assert (done.returncode == 0) == (not any(cell["violations"] for cell in found["cells"].values()))
    return found


@pytest.mark.timeout(900)
@each_cell("S01", backend_name="backend")
def test_every_record_is_accounted_for_through_twenty_faults(
    transport: str, backend: str, run: Mapping[str, Any]
) -> None:
    assert len(run["faults"]) == FAULTS
    cell = run["cells"][f"{transport}-{backend}"]
    assert cell["violations"] == [], f"with the seed {run['seed']}"
    assert cell["asked"] == cell["answered"] == cell["segments"] > 0
    assert cell["duplicates"] == 0
    assert cell["confirmed"] > 0


@pytest.mark.timeout(600)
def test_every_record_is_accounted_for_where_each_request_calls_a_dozen_libraries(tmp_path: Path) -> None:
    for server in (Postgres, Mariadb, Redis, RabbitMQ):
        make(server).close()  # as above
    arguments = ("--everything", "--minutes", "0.5", "--fault-every", "15", "--rate", "3", "--transports", "grpc")
    run = soak(tmp_path / "verdict.json", *arguments)
    for cell in run["cells"].values():
        assert cell["violations"] == [], f"with the seed {run['seed']}"
        assert cell["asked"] == cell["answered"] == cell["segments"] > 0
        assert cell["profiles"] > 0
