"""`Retry-After`: whatever it says, a pause of at most a minute comes out, or nothing."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faults.covering import covers
from swagent_transports._retry_after import LONGEST, read_retry_after

NOW = datetime(2026, 1, 31, 9, 15, tzinfo=timezone.utc)


@pytest.mark.gate
@covers("F15", "http")
@given(st.one_of(st.text(), st.from_regex(r"[-+0-9., :A-Za-z]*"), st.floats(0, 1e10).map(lambda now: f"{now:f}")),
       st.floats(-1e12, 1e12))  # fmt: skip
def test_total(text: str, now: float) -> None:
    pause = read_retry_after(text, now)
    assert pause is None or 0.0 <= pause <= LONGEST


@covers("F15", "http")
@pytest.mark.parametrize(
    ("text", "pause"),
    [
        ("0", 0.0),
        ("007", 7.0),
        (" 12 ", 12.0),
        ("1000000000", 60.0),
        ("9" * 5000, 60.0),
        ("0" * 5000 + "8", 8.0),
        ("Sat, 31 Jan 2026 09:15:30 GMT", 30.0),
        ("Saturday, 31-Jan-26 09:15:30 GMT", 30.0),
        ("Sat Jan 31 09:15:30 2026", 30.0),
        ("Sat, 31 Jan 2026 11:15:30 +0200", 30.0),
        ("Fri, 30 Jan 1970 09:15:30 GMT", 0.0),
        ("Sat, 31 Jan 9999 23:59:59 GMT", 60.0),
        ("-1", None),
        ("1e9", None),
        ("1.5", None),
        ("", None),
        ("soon", None),
        ("5, 5", None),
        ("٣", None),
        ("Sat, 99 Jan 2026 99:99:99 GMT", None),
        ("Sat, 31 Jan 2026 09:15:30 +9999999999", None),
        ("\0", None),
    ],
)
def test_forms(text: str, pause: float | None) -> None:
    assert read_retry_after(text, NOW.timestamp()) == pause
