"""The ledger's identity, and how it reads."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swagent.ledger import Drop, Ledger, Refusal, SignalStatistics, Statistics, named
from swagent.signals import Signal


def _statistics(**changed: Any) -> SignalStatistics:
    counts: dict[str, Any] = {
        "offered": 10, "refused": {"full": 2}, "confirmed": 4, "dropped": {"expired": 1}, "queued": 2, "in_flight": 1,
    }  # fmt: skip
    return SignalStatistics(signal=Signal.SEGMENT, queued_bytes=0, **(counts | changed))


def _of(ledger: Ledger, queued: int) -> SignalStatistics:
    return _statistics(
        offered=ledger.offered,
        refused=named(ledger.refused),
        confirmed=ledger.confirmed,
        dropped=named(ledger.dropped),
        queued=queued,
        in_flight=0,
    )


@given(st.lists(st.one_of(st.sampled_from(Refusal), st.sampled_from(Drop), st.sampled_from(["accept", "confirm"]))))
def test_the_identity_holds_whatever_becomes_of_records(script: list[Refusal | Drop | str]) -> None:
    ledger, queued = Ledger(), 0
    for step in script:
        if isinstance(step, Refusal):
            ledger.refuse(step)
        elif step == "accept":
            ledger.offered, queued = ledger.offered + 1, queued + 1
        elif queued and isinstance(step, Drop):
            ledger.drop(step)
            queued -= 1
        elif queued and step == "confirm":
            ledger.confirmed, queued = ledger.confirmed + 1, queued - 1
        assert _of(ledger, queued).balanced
    assert _of(ledger, queued).accepted == sum(step == "accept" for step in script)


@pytest.mark.parametrize("field", ["offered", "confirmed", "queued", "in_flight"])
@pytest.mark.parametrize("by", [-1, 1])
def test_one_record_too_many_or_too_few_is_seen(field: str, by: int) -> None:
    balanced = _statistics()
    off = _statistics(**{field: getattr(balanced, field) + by})
    assert balanced.balanced
    assert not off.balanced
    assert not Statistics({Signal.SEGMENT: off}).balanced


def test_a_ledger_reads_as_a_sentence() -> None:
    assert str(_statistics()) == (
        "segment: offered 10, accepted 8, confirmed 4, refused 2 (full), dropped 1 (expired), queued 2, in flight 1"
    )
    assert str(_statistics(state="disabled")).endswith("in flight 1 [disabled]")


def test_several_drops_of_one_kind_are_summed() -> None:
    ledger = Ledger(offered=5)
    ledger.drop(Drop.AMBIGUOUS, 2)
    ledger.drop(Drop.AMBIGUOUS, 3)
    assert dict(named(ledger.dropped)) == {"ambiguous": 5}


def test_frozen_counts_do_not_follow_the_ledger() -> None:
    ledger = Ledger()
    before = named(ledger.refused)
    ledger.refuse(Refusal.FULL)
    assert dict(before) == {}


def test_a_signals_ledger_is_found_by_name_and_by_attribute() -> None:
    segment = _statistics()
    statistics = Statistics({Signal.SEGMENT: segment})
    assert statistics["segment"] is statistics[Signal.SEGMENT] is statistics.segment is segment
    assert list(statistics) == [segment]
    assert statistics.balanced
    assert str(statistics) == str(segment)
    with pytest.raises(ValueError, match="no such signal"):
        statistics["no such signal"]
