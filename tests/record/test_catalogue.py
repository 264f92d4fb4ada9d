"""The numbers that spans name libraries by are those of OAP's catalogue, and the collector shows the same names."""

from __future__ import annotations

import re
from pathlib import Path

from swagent import Component, Layer
from swagent.collector.api.components import component_name

CATALOGUE = Path(__file__).parents[1] / "kit/real/oap_config/component-libraries.yml"


def test_every_component_has_the_catalogues_number() -> None:
    entries = re.findall(r"^([\w-]+): {id: (\d+),", CATALOGUE.read_text("utf-8"), re.MULTILINE)
    servers = {"Kafka", "RabbitMQ", "Pulsar"}
    listed = {int(number): name for name, number in entries if name not in servers}
    ours = {each.value: each.name for each in Component if each is not Component.UNKNOWN}
    assert len(listed) == len(entries) - len(servers) == 37
    assert ours == {number: name.upper().replace("-", "_") for number, name in listed.items()}
    assert {number: component_name(number).upper().replace("-", "_") for number in listed} == ours
    assert (Component.ASYNCPG, Layer.DATABASE) == (7016, 1)
