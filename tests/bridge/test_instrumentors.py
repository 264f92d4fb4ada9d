"""Which OpenTelemetry instrumentations are switched on, and when."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import Distribution, EntryPoint
from pathlib import Path
from typing import Any, ClassVar

import pytest

from swagent.opentelemetry import instrumentors
from swagent.opentelemetry.instrumentors import BridgeState, Instrumentor, switch_off, switch_on

pytest.importorskip("opentelemetry.instrumentation")
BaseInstrumentor: Any = import_module("opentelemetry.instrumentation.instrumentor").BaseInstrumentor


class Package(Distribution):
    """As much of an installed package as is asked for."""

    def __init__(self, requires: list[str]) -> None:
        self._requires = requires

    @property
    def requires(self) -> list[str]:
        return self._requires

    def read_text(self, filename: str) -> str | None:
        return None

    def locate_file(self, path: Any) -> Any:
        return Path(path)


class ShopInstrumentor(BaseInstrumentor):  # type: ignore[misc]
    """Of a library that the tests write."""

    calls: ClassVar[list[str]] = []
    conflict: Any = None
    fault: Exception | None = None

    def instrumentation_dependencies(self) -> list[str]:
        return []

    def _check_dependency_conflicts(self) -> Any:
        return self.conflict

    def _instrument(self, **_: Any) -> None:
        if self.fault is not None:
            raise self.fault
        self.calls.append("on")

    def _uninstrument(self, **_: Any) -> None:
        self.calls.append("off")


class Conflict:
    def __init__(self, found: str | None) -> None:
        self.found = found

    def __str__(self) -> str:
        return f"found {self.found}"


@pytest.fixture(autouse=True)
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(ShopInstrumentor, "calls", [])
    for name in ("conflict", "fault", "_instance"):
        monkeypatch.setattr(ShopInstrumentor, name, None)
    monkeypatch.setattr(ShopInstrumentor, "_is_instrumented_by_opentelemetry", False)
    for module in ("swagent_tested_shop", "swagent_tested_stock"):
        (tmp_path / f"{module}.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    # distributions and modules have the same names here
    monkeypatch.setattr(instrumentors, "_modules_in", lambda name: [name] if name.startswith("swagent") else [])
    yield
    for module in ("swagent_tested_shop", "swagent_tested_stock"):
        sys.modules.pop(module, None)


def _known(monkeypatch: pytest.MonkeyPatch, *requires: str, name: str = "shop") -> Instrumentor:
    point = EntryPoint(name, f"{__name__}:ShopInstrumentor", instrumentors.GROUP)
    point = point._for(Package(list(requires)))  # type: ignore[attr-defined]
    # the entry point would look for this module by its name on the path
    monkeypatch.setattr(EntryPoint, "load", lambda _: ShopInstrumentor)
    instrumentor = Instrumentor(point)
    monkeypatch.setattr(instrumentors, "_known", {name: instrumentor})
    return instrumentor


SHOP = 'swagent_tested_shop>=1; extra == "instruments"'
STOCK = 'swagent_tested_stock>=1; extra == "instruments"'


def test_it_is_switched_on_when_its_library_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    shop = _known(monkeypatch, "opentelemetry-api~=1.0", SHOP)
    switch_on(())
    assert (shop.state, ShopInstrumentor.calls) == (BridgeState.WAITING, [])
    import_module("swagent_tested_shop")
    assert (shop.state, ShopInstrumentor.calls) == (BridgeState.ACTIVE, ["on"])
    switch_off("by the test")
    assert (shop.state, shop.reason, ShopInstrumentor.calls) == (BridgeState.OFF, "by the test", ["on", "off"])
    switch_on(())
    assert (shop.state, ShopInstrumentor.calls) == (BridgeState.ACTIVE, ["on", "off", "on"])


WAITING, ACTIVE = BridgeState.WAITING, BridgeState.ACTIVE


@pytest.mark.parametrize(
    ("requires", "states"),
    [
        ([SHOP, STOCK], [WAITING, WAITING, ACTIVE]),
        ([line.replace('"instruments"', '"instruments-any"') for line in (SHOP, STOCK)], [WAITING, ACTIVE, ACTIVE]),
        ([], [ACTIVE] * 3),
        (['somewhere-else; extra == "instruments"'], [BridgeState.ABSENT] * 3),
    ],
    ids=["all are needed", "one of them will do", "none is needed", "one is not there"],
)
def test_it_waits_for_what_it_needs(requires: list[str], states: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    shop = _known(monkeypatch, *requires)
    switch_on(())
    found = [shop.state]
    for name in ("stock", "shop"):
        import_module(f"swagent_tested_{name}")
        found.append(shop.state)
    assert found == states


def test_it_does_not_meet_a_library_that_is_half_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "swagent_tested_shop.py").write_text("import swagent_tested_stock\nready = True\n")
    shop = _known(monkeypatch, STOCK, SHOP)
    met: list[bool] = []
    monkeypatch.setattr(
        ShopInstrumentor,
        "_instrument",
        lambda *_, **__: met.append(hasattr(sys.modules["swagent_tested_shop"], "ready")),
    )
    switch_on(())
    import_module("swagent_tested_shop")
    assert (shop.state, met) == (BridgeState.ACTIVE, [True])


@pytest.mark.parametrize(
    ("covered", "disabled", "state"),
    [
        ({"shop"}, "", BridgeState.COVERED),
        (set(), "stock, shop", BridgeState.OFF),
        (set(), "*", BridgeState.OFF),
    ],
)
def test_some_are_left_off(
    covered: set[str], disabled: str, state: BridgeState, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_PYTHON_DISABLED_INSTRUMENTATIONS", disabled)
    shop = _known(monkeypatch, SHOP)
    switch_on(covered)
    import_module("swagent_tested_shop")
    assert (shop.state, ShopInstrumentor.calls) == (state, [])


@pytest.mark.parametrize(
    ("found", "state", "reason"),
    [("0.1", BridgeState.UNSUPPORTED, "found 0.1"), (None, BridgeState.ABSENT, "")],
)
def test_a_version_that_does_not_fit_is_left_alone(
    found: str | None, state: BridgeState, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ShopInstrumentor, "conflict", Conflict(found))
    shop = _known(monkeypatch, SHOP)
    switch_on(())
    import_module("swagent_tested_shop")
    assert (shop.state, shop.reason, ShopInstrumentor.calls) == (state, reason, [])


def test_one_that_fails_costs_no_import(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(ShopInstrumentor, "fault", RuntimeError("odd"))
    shop = _known(monkeypatch, SHOP)
    switch_on(())
    with caplog.at_level(logging.WARNING, "swagent"):
        import_module("swagent_tested_shop")
    assert (shop.state, shop.reason) == (BridgeState.FAILED, "RuntimeError('odd')")
    assert len(caplog.records) == 1


def test_one_that_the_application_has_switched_on_is_the_applications(monkeypatch: pytest.MonkeyPatch) -> None:
    ShopInstrumentor().instrument()
    shop = _known(monkeypatch, SHOP)
    switch_on(())
    import_module("swagent_tested_shop")
    assert shop.state is BridgeState.FOREIGN
    switch_off("by the test")
    assert ShopInstrumentor.calls == ["on"]
