"""Which settings a collector may change, and what of its commands is void."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swagent import Config
from swagent.record.trace.ignore import compile_ignored
from swagent.runtime.remote_settings import FOLLOWED, read_settings

SAMPLED, SUFFIX, PATH, SPANS = FOLLOWED


def read(**arguments: str) -> Mapping[str, Any]:
    return read_settings({"UUID": "u1", "SerialNumber": "s1", **arguments}).values


@pytest.mark.parametrize(
    ("key", "text", "name", "value"),
    [
        (SAMPLED, "10", "sample_n_per_3_secs", 10),
        (SAMPLED, " +7 ", "sample_n_per_3_secs", 7),
        (SAMPLED, "-1", "sample_n_per_3_secs", 0),
        (SAMPLED, "9" * 18, "sample_n_per_3_secs", 1_000_000_000),
        (SPANS, "300", "span_limit", 300),
        (SPANS, "0", "span_limit", 100_000),
        (SPANS, "-5", "span_limit", 100_000),
        (SPANS, "9" * 18, "span_limit", 100_000),
        (SUFFIX, ".txt, .log,,", "ignore_suffix", (".txt", ".log")),
        (PATH, "/health/**,/**/a*b/**,/api/*/x", "trace_ignore_path", ("/health/**", "/**/a*b/**", "/api/*/x")),
    ],
)
def test_a_setting_is_read_and_brought_into_its_range(key: str, text: str, name: str, value: Any) -> None:
    assert read(**{key: text}) == {name: value}
    # a collector may set the same values as a user
    assert getattr(dataclasses.replace(Config(service="shop"), **{name: value}), name) == value


def test_an_empty_setting_and_one_of_other_agents_are_left_alone() -> None:
    others = {"plugin.jdbc.trace_sql_parameters": "true", "collector": "evil.example.org:1", "sample_n_per_3_secs": "9"}
    assert read(**others, **{SAMPLED: "", SPANS: "  ", "agent.logging_level": "\0" * 9000}) == {}


NO_NUMBERS = ("x", "nan", "1e309", "5.0", "٣", "9" * 5000, "1_000", "0x10", "--1", "1\0")


@pytest.mark.parametrize(
    "arguments",
    [
        *({key: text} for key in (SAMPLED, SPANS) for text in NO_NUMBERS),
        *(
            {key: text}
            for key in (SUFFIX, PATH)
            for text in ("a\nb", "a\x1b[31m", "\u202egpj.", "a," * 501, "x" * 1001)
        ),
        {PATH: "*," * 65},
        {PATH: "/ok,/**a*b"},
        {PATH: "***"},
        *({"UUID": text} for text in ("", "a\nb", "x" * 257)),
    ],
)
def test_one_value_that_cannot_be_read_makes_the_answer_void(arguments: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"^(agent\.[a-z_3.]+ (is|has) |it has no UUID$)") as caught:
        read(**{SAMPLED: "5", SUFFIX: ".ok", **arguments})
    said = {each for each in arguments.values() if each}
    assert not any(each in str(caught.value) for each in said), "a stranger's words go into no log"


@given(st.dictionaries(st.sampled_from([*FOLLOWED, "UUID", "x"]), st.text() | st.text("0123456789-+*/?.,")))
def test_whatever_it_says_is_settings_within_limits_or_void(arguments: dict[str, str]) -> None:
    try:
        found = read_settings(arguments)
    except ValueError:
        return
    config = dataclasses.replace(Config(service="shop"), **found.values)
    is_ignored = compile_ignored(config.ignore_suffix, config.trace_ignore_path)
    assert is_ignored("GET:/" + "a/" * 50) in (True, False)
    assert math.isfinite(config.sample_n_per_3_secs)
