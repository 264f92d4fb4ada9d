"""A collection of meters is taken apart byte for byte."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swagent_proto import wire
from swagent_transports._meters import elements


@given(st.lists(st.binary(max_size=300)))
def test_the_elements_of_a_collection_are_what_it_was_made_of(parts: list[bytes]) -> None:
    assert list(elements(wire.meter_data_collection(parts))) == parts


@pytest.mark.parametrize("broken", [b"\x12\x00", b"\x0a\x05abc", b"\x0a", b"\x0a\xff"])
def test_bytes_that_are_no_collection_are_an_error(broken: bytes) -> None:
    with pytest.raises(ValueError, match=r"not a|cut short"):
        list(elements(broken))
