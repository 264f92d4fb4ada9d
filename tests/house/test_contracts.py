"""import-linter's contracts know every module: one that no contract names could import whatever it likes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from .project import PROJECT, ROOT

CONTRACTS: Mapping[str, Any] = {each["name"]: each for each in PROJECT["tool"]["importlinter"]["contracts"]}
LAYERS = "The core has layers: record, pipeline, runtime, agent, hosting, and what is around it"
TRANSPORTS = "Transports see abc, errors, signals, the settings, the log, the loop and the time to stop, and no more"
# The contracts about all of swagent/, and the modules to which each does not apply.
LEFT_OUT: Mapping[str, Mapping[str, str]] = {
    "The core and the collector are two products": {},
    "The collector touches the core in one place": {
        "abc": "its types are public",
        "errors": "they are public",
        "w3c_ids": "both sides derive the same ids",
    },
    "The core names no transport and no client library": {
        "collector": "it serves by these libraries",
        "instrument": "client libraries are its subject",
        "opentelemetry": "OpenTelemetry's API is its subject",
    },
    "The core takes anyio for its loop, but where the loops differ": {
        "collector": "its servers run on asyncio",
        "instrument": "most client libraries run on asyncio alone",
    },
    "Only the encoder knows the wire": {
        "collector": "it takes the messages apart",
        "pipeline": "the encoder is in it",
    },
    TRANSPORTS: dict.fromkeys(
        ("abc", "agent_log", "backend", "config", "errors", "signals", "stop_budgets", "w3c_ids"), "transports see it"
    ),
}  # fmt: skip


def children(package: str) -> set[str]:
    """The modules and packages that are directly in a package."""
    folder = ROOT.joinpath(*package.split("."))
    packages = {path.parent.name for path in folder.glob("*/__init__.py")}
    return packages | {path.stem for path in folder.glob("*.py") if path.stem != "__init__"}


def layers(contract: Mapping[str, Any]) -> set[str]:
    """The modules that a contract about layers names."""
    return {name.strip() for each in contract["layers"] for name in each.split("|")}


@pytest.mark.parametrize("contract", LEFT_OUT)
def test_a_contract_names_every_module_of_swagent(contract: str) -> None:
    said = CONTRACTS[contract]
    named = {*said["source_modules"], *said["forbidden_modules"]}
    here = {each for each in children("swagent") if f"swagent.{each}" in named}
    assert here | set(LEFT_OUT[contract]) == children("swagent")
    assert not here & set(LEFT_OUT[contract])


def test_the_layers_hold_every_module_of_the_core() -> None:
    named = layers(CONTRACTS[LAYERS])
    missing = {each for each in children("swagent") if f"swagent.{each}" not in named}
    assert missing == {"collector"}


def test_the_layers_of_a_package_hold_every_module_of_it() -> None:
    inner = [each for each in CONTRACTS.values() if "containers" in each]
    assert len(inner) == 13
    assert all(each.get("exhaustive") for each in inner)
