"""The bridge's three places: taken together, given back, and left to who was there before or comes later."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from typing import Any

import pytest
from opentelemetry import context, propagate, trace

from record.recorded import Recorder
from swagent.opentelemetry import install, report, uninstall
from swagent.opentelemetry.provider import BridgeProvider


class OtherProvider(trace.NoOpTracerProvider):
    """Replaces an SDK's."""


@pytest.fixture
def without_bridge(monkeypatch: pytest.MonkeyPatch) -> None:
    uninstall()
    # the settings of a test are gone after it
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", None)
    monkeypatch.setattr(trace, "_TRACER_PROVIDER_SET_ONCE", type(trace._TRACER_PROVIDER_SET_ONCE)())


def _places() -> tuple[Any, Any, Any]:
    return trace._TRACER_PROVIDER, context._RUNTIME_CONTEXT, propagate.get_global_textmap()


def _own(records: list[logging.LogRecord]) -> list[logging.LogRecord]:
    """The records of this thread: one that a test before it left behind may have its say at any time."""
    return [record for record in records if record.thread == threading.get_ident()]


def test_all_places_are_taken_and_given_back(without_bridge: None) -> None:
    before = _places()
    once = trace._TRACER_PROVIDER_SET_ONCE
    assert install(instrument=False)
    assert isinstance(trace.get_tracer_provider(), BridgeProvider)
    taken = _places()
    assert all(now is not then for now, then in zip(taken, before, strict=True))
    assert install(instrument=False)
    assert all(now is then for now, then in zip(_places(), taken, strict=True))
    uninstall()
    uninstall()
    assert all(now is then for now, then in zip(_places(), before, strict=True))
    assert trace._TRACER_PROVIDER_SET_ONCE is once


def test_a_tracer_from_before_records_while_the_bridge_is_installed(without_bridge: None, recorder: Recorder) -> None:
    tracer = trace.get_tracer("early")
    tracer.start_span("too early").end()
    for _ in range(2):
        install(instrument=False)
        tracer.start_span("recorded").end()
        uninstall()
        tracer.start_span("too late").end()
    assert recorder.names == [["recorded"], ["recorded"]]


def test_a_context_that_was_attached_before_is_still_known(without_bridge: None, recorder: Recorder) -> None:
    early = context.attach(context.set_value("key", "value"))
    install(instrument=False)
    with trace.get_tracer("any").start_as_current_span("work"):
        assert context.get_value("key") == "value"
    context.detach(early)
    assert context.get_value("key") is None


def test_a_provider_that_is_set_already_stays_and_is_reported(
    without_bridge: None, caplog: pytest.LogCaptureFixture
) -> None:
    provider = OtherProvider()
    trace.set_tracer_provider(provider)
    before = _places()
    with caplog.at_level(logging.INFO, "swagent"):
        assert not install()
    assert all(now is then for now, then in zip(_places(), before, strict=True))
    assert trace.get_tracer_provider() is provider
    (record,) = caplog.records
    assert "OtherProvider" in record.getMessage()


def test_a_provider_that_is_chosen_by_the_environment_stays(
    without_bridge: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_PYTHON_TRACER_PROVIDER", "sdk_tracer_provider")
    assert not install()
    assert trace._TRACER_PROVIDER is None


def test_a_provider_that_is_set_later_gets_the_place(
    without_bridge: None, recorder: Recorder, caplog: pytest.LogCaptureFixture
) -> None:
    install(instrument=False)
    provider = OtherProvider()
    with caplog.at_level(logging.INFO):
        trace.set_tracer_provider(provider)
    assert trace.get_tracer_provider() is provider
    assert [record.name for record in _own(caplog.records)] == ["swagent"]
    trace.get_tracer("any").start_span("elsewhere").end()
    assert recorder.segments == []
    assert not install(instrument=False)


def test_without_the_api_there_is_no_bridge_and_no_fault() -> None:
    code = (
        "import sys\n"
        "sys.modules['opentelemetry'] = None\n"
        "from swagent.opentelemetry import install, report, uninstall\n"
        "assert install() is False\n"
        "uninstall()\n"
        "assert report() == []\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, timeout=60)


@pytest.mark.gate
def test_the_core_does_not_import_it() -> None:
    code = (
        "import sys, swagent, swagent.asgi, swagent.cli, swagent.instrument\n"
        "assert not [name for name in sys.modules if name.startswith('opentelemetry')]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_an_api_with_other_places_is_left_alone(
    without_bridge: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from swagent.opentelemetry import installation

    monkeypatch.setattr(installation, "_bridge", None)
    monkeypatch.delattr(context, "_RUNTIME_CONTEXT")
    assert not install()
    assert "does not fit" in caplog.text
    assert report() == []


def test_native_instrumentations_that_are_asked_for_cover_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("opentelemetry.instrumentation")
    from swagent.instrument import Instrumentation, instrument, uninstrument
    from swagent.instrument import installation as native
    from swagent.opentelemetry import instrumentors

    covered: list[set[str]] = []
    monkeypatch.setattr(instrumentors, "switch_on", lambda names: covered.append(set(names)))
    shop = Instrumentation("shop", "swagent_tested_shop", lambda *_: None, "-", opentelemetry=("shop", "stock"))
    monkeypatch.setattr(native, "_installations", {"shop": native.Installation(shop)})
    install()
    instrument("shop")
    install()
    uninstrument("shop")
    install()
    # an instrumentation that was never asked for covers nothing, and the library of one that was switched off is not to
    # be recorded by others
    assert covered == [set(), {"shop", "stock"}, {"shop", "stock"}]
