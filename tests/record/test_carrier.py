"""The `sw8` header: what is written can be read, and whatever else is read is a carrier or nothing."""

from __future__ import annotations

import binascii
import time
from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swagent.record.trace.carrier import MAX_FIELD, MAX_HEADER, Carrier, _decode, format_sw8, parse_sw8
from swagent.text import one_line

from .hostile_headers import CARRIER, HOSTILE, header_with

_TEXT = st.text(min_size=1, max_size=100)
# without what is replaced on the way
_LINE = _TEXT.map(one_line)
_ID = _TEXT.filter(str.isprintable)
_CARRIERS = st.builds(Carrier, st.booleans(), _ID, _ID, st.integers(0, 999_999_999), _LINE, _LINE, _LINE, _LINE)
_BASE64_LIKE = st.text("AQRYWZabz01+/=-_ \n", max_size=12)


def test_the_header_has_the_eight_fields_of_the_protocol() -> None:
    assert format_sw8(CARRIER) == "1-dHJhY2U=-c2VnbWVudA==-3-ZnJvbnQ=-ZnJvbnQtMQ==-R0VUOi9jYXJ0-c2hvcDo4MDgw"


@pytest.mark.gate
@given(_CARRIERS)
def test_a_written_header_is_read_back(carrier: Carrier) -> None:
    header = format_sw8(carrier)
    assert parse_sw8(header) == carrier
    assert parse_sw8(header.encode("ascii")) == carrier


@given(st.builds(Carrier, *[st.text(st.characters())] * 8))
def test_no_text_breaks_out_of_theheader_with(texts: Carrier) -> None:
    carrier = texts._replace(sampled=True, span_id=1)
    header = format_sw8(carrier)
    assert header.isascii()
    assert header.isprintable()
    assert header.count("-") == 7


@given(st.one_of(st.binary(), st.text(), st.text("01-=AQ/+ \n"), st.lists(_BASE64_LIKE).map("-".join)))
def test_anything_is_read_as_a_carrier_or_as_nothing(value: bytes | str) -> None:
    carrier = parse_sw8(value)
    assert carrier is None or parse_sw8(format_sw8(carrier)) == carrier


@pytest.mark.gate
@given(_CARRIERS, st.integers(0, 400), st.binary(max_size=2))
def test_a_damaged_header_is_read_as_a_carrier_or_as_nothing(carrier: Carrier, at: int, damage: bytes) -> None:
    header = format_sw8(carrier).encode("ascii")
    read = parse_sw8(header[:at] + damage + header[at + 1 :])
    assert read is None or all(read[1:3])


@pytest.mark.parametrize("header", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_malformed_header_counts_as_none(header: str) -> None:
    assert parse_sw8(header) is None
    assert parse_sw8(header.encode("utf-8")) is None


def test_the_well_formed_one_beside_the_malformed_is_read() -> None:
    assert parse_sw8(header_with()) == CARRIER
    assert parse_sw8(header_with(sampled="0")) == CARRIER._replace(sampled=False)
    longest = CARRIER._replace(endpoint="x" * MAX_FIELD, span_id=999_999_999)
    assert parse_sw8(format_sw8(longest)) == longest
    lone_surrogate = CARRIER._replace(endpoint="a\ud800b")
    assert parse_sw8(format_sw8(lone_surrogate)) == CARRIER._replace(endpoint="a\ufffdb")


@given(st.text("aé€😀", min_size=MAX_FIELD // 4, max_size=MAX_FIELD * 2))
def test_a_text_too_long_for_a_reader_is_cut_between_two_characters(endpoint: str) -> None:
    read = parse_sw8(format_sw8(CARRIER._replace(endpoint=endpoint)))
    assert read is not None
    assert endpoint.startswith(read.endpoint)
    assert read.endpoint == endpoint or len(read.endpoint.encode()) > MAX_FIELD - 4


_CONTROLS = {
    "line break": "\r\n", "tab": "\t", "NUL": "\0", "escape": "\x1b[31m", "C1": "\x85\x9b", "DEL": "\x7f",
    "right to left": "\u202e", "isolate": "\u2066", "mark": "\u200f", "line separator": "\u2028",
}  # fmt: skip


@pytest.mark.parametrize("controls", _CONTROLS.values(), ids=_CONTROLS)
def test_control_characters_travel_in_no_name_and_no_id(controls: str) -> None:
    """Neither out of this process nor into it. An id would be shown in the application's own log lines, and cleaned it
    would be another one."""
    text = f"a{controls}b"
    read = parse_sw8(format_sw8(CARRIER._replace(service=text, instance=text, endpoint=text, address=text)))
    assert read is not None
    assert all(one_line(each) == each != text for each in read[4:])
    raw = b64encode(text.encode()).decode()
    assert parse_sw8(header_with(service=raw, instance=raw, endpoint=raw, address=raw)) == read
    assert parse_sw8(header_with(trace_id=raw)) is None
    assert parse_sw8(header_with(segment_id=raw)) is None


@given(st.one_of(_BASE64_LIKE, st.binary(max_size=9).map(lambda data: b64encode(data).decode())))
def test_a_field_is_taken_exactly_when_it_is_canonical_base64_of_utf8(field: str) -> None:
    try:
        data = binascii.a2b_base64(field)
        expected: str | None = data.decode("utf-8") if b64encode(data).decode() == field else None
    except ValueError:
        expected = None
    assert _decode(field) == expected


def test_an_endless_header_costs_no_more_than_the_longest_allowed_one() -> None:
    def cost(header: str) -> float:
        best = float("inf")
        for _ in range(5):
            start = time.thread_time()
            parse_sw8(header)
            best = min(best, time.thread_time() - start)
        return best

    for pattern in ("-", "=", "YWJj", "9", "1-"):
        allowed, endless = pattern * (MAX_HEADER // len(pattern)), pattern * 1_000_000
        assert cost(endless) <= cost(allowed) + 0.001
