"""The rules and the dashboard of `docs/oap`: the real OAP loads the rules, and answers what the dashboard asks for."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from e2e.fixtures import make_oap
from e2e.graphql import OapQuery, eventually
from kit.real.oap import Oap
from swagent import Agent, Config, local_span
from swagent.meters import Gauge

pytestmark = pytest.mark.anyio

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "oap"
RULES = FOLDER / "swagent.yaml"
ONLY_IN_TROUBLE = ("meter_swagent_records_refused", "meter_swagent_records_dropped")
"""The agent reports these once there was any."""
_POOL = {"pool": "db:5432/shop"}


@pytest.fixture(scope="module")
def ruled_oap() -> Iterator[Oap]:
    """An OAP that has the rules."""
    with make_oap(meter_rules=RULES) as server:
        yield server


def metrics() -> set[str]:
    """The names of what the rules make."""
    return {f"meter_{name}" for name in re.findall(r"- name: (\w+)", RULES.read_text("utf-8"))}


def expressions() -> list[str]:
    """All that the dashboard asks for."""
    (template,) = json.loads((FOLDER / "dashboard.json").read_text("utf-8"))
    return [each for child in template["configuration"]["children"] for each in child["expressions"]]


def test_the_dashboard_asks_for_each_metric_and_for_no_other() -> None:
    asked = [name for each in expressions() for name in re.findall(r"meter_\w+", each)]
    assert sorted(asked) == sorted(metrics())


async def test_the_oap_answers_each_expression_of_the_dashboard(ruled_oap: Oap) -> None:
    service = f"rules-{uuid.uuid4().hex[:6]}"
    config = Config(service=service, instance=f"{service}-1", collector=ruled_oap.grpc_address, meter_reporter_period=1)
    values = {"in_use": 3.0, "idle": 2.0, "waiting": 1.0, "limit": 5.0}
    gauges = [Gauge(f"swagent_pool_{name}", partial(float, value), labels=_POOL) for name, value in values.items()]
    try:
        async with Agent(config), OapQuery(ruled_oap.http_address) as query:
            for expression in expressions():
                with local_span("work"):
                    pass
                ask = partial(query.meter, expression, service, f"{service}-1")
                if expression in ONLY_IN_TROUBLE:
                    assert await ask() is None
                else:
                    await eventually(ask, until=lambda value: value is not None)
            for name, value in values.items():
                assert await query.meter(f"meter_swagent_pool_{name}", service, f"{service}-1") == value
    finally:
        for gauge in gauges:
            gauge.remove()
