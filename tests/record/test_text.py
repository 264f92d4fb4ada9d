"""Names are one line of harmless characters, addresses are that and nothing more, and texts are plain `str`."""

from __future__ import annotations

import re
import sys
import unicodedata
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from faults.data.poisons import QuietLiar
from swagent import exit_span
from swagent.record.limits import MAX_NAME, address_of, as_text, name_of
from swagent.text import REPLACEMENT, one_line
from swagent_proto.text import clean

from .recorded import Recorder


@pytest.mark.gate
def test_every_character_that_the_codecs_replace_is_replaced_in_names_and_line_ends_as_well() -> None:
    for code in range(sys.maxunicode + 1):
        letter = chr(code)
        is_line_end = letter in "\t\n\r\u2028\u2029"
        assert (one_line(letter) == letter) is (clean(letter) == letter and not is_line_end), hex(code)
        if one_line(letter) != letter:
            assert unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Zl", "Zp")


@given(st.text(st.characters()))
def test_a_cleaned_text_stays_as_it_is(text: str) -> None:
    cleaned = one_line(text)
    assert len(cleaned) == len(text)
    assert one_line(cleaned) == clean(cleaned) == cleaned
    assert "\n" not in cleaned
    cleaned.encode()


@given(st.text(st.characters()) | st.binary() | st.none() | st.integers())
def test_any_name_is_short_and_one_line(value: Any) -> None:
    name = name_of(value)
    assert type(name) is str
    assert len(name) <= MAX_NAME
    assert one_line(name) == name


@pytest.mark.parametrize(
    ("peer", "shown"),
    [
        ("shop:80", "shop:80"),
        ("", ""),
        ("[::1]:80", "[::1]:80"),
        ("http://shop:80/orders", "http://shop:80/orders"),
        ("user:hunter2@shop:80", "shop:80"),
        ("http://user:hunter2@shop:80", "http://shop:80"),
        ("http://user@shop", "http://shop"),
        ("postgres://u:hunter2/?#@@db:5432/shop", "postgres://db:5432/shop"),
        ("kafka://u:hunter2@a:1,kafka://u:hunter2@b:2", "kafka://b:2"),
        ("http://shop/?password=hunter2", "http://shop/"),
        ("http://shop/#hunter2", "http://shop/"),
        ("shop?hunter2@host", "host"),
        ("hunter2@", ""),
        ("shop\r\nx: y", f"shop{REPLACEMENT}{REPLACEMENT}x: y"),
    ],
)
def test_a_peers_address_shows_no_credentials(peer: str, shown: str, recorder: Recorder) -> None:
    assert address_of(peer) == shown
    with exit_span("call", peer) as span:
        assert span.peer == shown
    assert recorder.only.spans[0].peer == shown


@given(st.text(), st.text(), st.sampled_from(["", "http://", "mongodb+srv://"]))
@example("", "A://", "")
@example("A://me:", "secret", "")
def test_whatever_the_password_is_it_is_not_shown(before: str, password: str, scheme: str) -> None:
    address = f"{scheme}{before}{password}@host:1"
    # without a scheme, a user whose name looks like one is taken for one
    shown = re.match("[a-zA-Z][a-zA-Z0-9+.-]*://", address)
    assert address_of(address) == f"{shown[0] if shown else ''}host:1"
    assert shown is None or not scheme or shown[0] == scheme


def test_a_text_of_a_type_of_its_own_becomes_a_plain_one() -> None:
    text = as_text(QuietLiar("value"))
    assert type(text) is str
    assert text == "value"
    assert name_of(QuietLiar("name")) == "name"
    assert address_of(QuietLiar("host:1")) == "host:1"
