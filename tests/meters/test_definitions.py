"""A wrong definition raises where it is; what comes at run time is made to fit."""

from __future__ import annotations

import enum
import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meters.readings import singles, value_of
from swagent.agent_log import RateLimitedLog
from swagent.meters import Counter, Gauge, Histogram, MeterRegistry
from swagent.record.meters import labels as meter_labels


@pytest.mark.parametrize("name", ["", " ", "a\nb", "a\x00", "\ud800", "x" * 129, None, 7, b"orders"], ids=repr)
def test_a_name_that_cannot_be_is_refused(registry: MeterRegistry, name: Any) -> None:
    for make in (
        lambda: Counter(name, registry=registry),
        lambda: Gauge(name, lambda: 1, registry=registry),
        lambda: Histogram(name, [1], registry=registry),
    ):
        with pytest.raises(ValueError, match="name"):
            make()


@pytest.mark.parametrize(
    "labels",
    [{"": 1}, {"a\n": 1}, {"x" * 65: 1}, {7: 1}, [("a", 1), ("a", 2)], {f"l{number}": 1 for number in range(17)},
     {"service": "x"}, {"instance": "x"}, {"le": 1}],
    ids=lambda labels: str(labels)[:20],
)  # fmt: skip
def test_labels_that_cannot_be_are_refused(registry: MeterRegistry, labels: Any) -> None:
    with pytest.raises(ValueError, match="label"):
        Counter("orders", labels=labels, registry=registry)
    assert registry.collect() == []


def test_a_name_that_no_rule_can_speak_of_is_warned_about(
    registry: MeterRegistry, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(meter_labels, "_limited", RateLimitedLog(lambda: 0.0))
    with caplog.at_level(logging.WARNING, logger="swagent"):
        Counter("orders.placed", registry=registry).increment()
        Counter("2nd", registry=registry)
        Counter("orders_placed", registry=registry)
    assert len(caplog.records) == 1, "once is enough"
    assert "'orders.placed'" in caplog.text
    assert value_of(registry, "orders.placed") == 1


def _kinds(name: str, registry: MeterRegistry) -> list[Any]:
    return [
        lambda: Counter(name, registry=registry),
        lambda: Counter(name, mode="rate", registry=registry),
        lambda: Gauge(name, lambda: 1, registry=registry),
        lambda: Histogram(name, [1], registry=registry),
        lambda: Histogram(name, [2], registry=registry),
    ]


@pytest.mark.parametrize("first", range(5))
@pytest.mark.parametrize("second", range(5))
def test_one_name_is_one_kind_of_meter(registry: MeterRegistry, first: int, second: int) -> None:
    _kinds("size", registry)[first]()
    again = _kinds("size", registry)[second]
    if first == second:
        again()
        return
    with pytest.raises(ValueError, match=r"'size' cannot be a .*: it is a .* already"):
        again()


def test_labels_are_added_and_replaced(registry: MeterRegistry) -> None:
    orders = Counter("orders", labels={"shop": "north"}, registry=registry)
    orders.labels(status=200).increment()
    orders.labels(status="200").increment()
    orders.labels(shop="south", status=404).increment()
    assert singles(registry.collect()) == {
        ("orders", (("shop", "north"), ("status", "200"))): 2,
        ("orders", (("shop", "south"), ("status", "404"))): 1,
    }, "and a parent that counts nothing itself is not reported"
    orders.increment()
    assert value_of(registry, "orders", (("shop", "north"),)) == 1


def test_labels_of_a_histogram(registry: MeterRegistry) -> None:
    sizes = Histogram("size", [1], registry=registry)
    sizes.labels(kind="a").labels(of="b").observe(2)
    [sample] = registry.collect()
    assert sample.labels == (("kind", "a"), ("of", "b"))


class Unspeakable:
    def __str__(self) -> str:
        raise RuntimeError("no")


class Colour(str, enum.Enum):
    RED = "red"


class Odd(str):
    __slots__ = ()

    def __str__(self) -> str:
        return self

    def __len__(self) -> int:
        raise RuntimeError("no")


def test_no_label_raises_at_run_time(registry: MeterRegistry) -> None:
    orders = Counter("orders", registry=registry)
    orders.labels(value=Unspeakable(), colour=Colour.RED, odd=Odd("x")).increment()
    orders.labels(**{"": 1, "a\x00b": 2, "a\x01b": 3, "\ud800": "\ud800", "x" * 200: "y" * 10_000}).increment()
    orders.labels(service="s", instance="i", le=3).increment()
    orders.labels(**{f"label{number:02}": number for number in range(100)}).increment()
    *_, reserved, many = [each for each in registry.collect() if each.labels]
    assert reserved.labels == (("instance_", "i"), ("le_", "3"), ("service_", "s"))
    assert len(many.labels) == 16


@pytest.mark.gate
@given(st.dictionaries(st.text() | st.sampled_from(["service", "le", "self"]), st.text() | st.integers() | st.none()))
def test_whatever_the_labels_the_collector_can_take_them(given_labels: dict[str, Any]) -> None:
    registry = MeterRegistry()
    Counter("orders", registry=registry).labels(**given_labels).increment()
    [sample] = registry.collect()
    names = [name for name, _ in sample.labels]
    assert len(set(names)) == len(names) <= 16
    assert not {"service", "instance", "le"}.intersection(names)
    assert all(name.isprintable() and len(name) <= 64 for name in names)
    assert all(len(value) <= 128 for _, value in sample.labels)
