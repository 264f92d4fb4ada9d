"""A record has the same name at both ends, over every transport."""

from __future__ import annotations

from pathlib import Path

import pytest

from stress.soak.evidence import Sample, read_last_sample, read_names, read_output, read_samples
from stress.soak.record_names import as_lines, meters_name, name_of, names_of, trace_id
from stress.soak.sink_process import split_array
from swagent.signals import Signal
from swagent_proto import wire


@pytest.mark.parametrize("number", [0, 7, 123_456_789])
def test_a_segment_is_named_after_its_request(number: int) -> None:
    segment = wire.segment_object(trace_id(number), "segment", [], "service", "instance", False)
    assert name_of(segment) == str(number)


def test_other_records_are_named_after_their_bytes() -> None:
    assert name_of(b"one") == name_of(b"one") != name_of(b"two")


def test_meters_have_one_name_whole_and_one_by_one() -> None:
    meters = [
        wire.meter_data(wire.meter_single_value("load", [], value), None, "shop", "shop@host", 1_700_000_000_000)
        for value in (1.0, 2.0)
    ]
    assert names_of(Signal.METER, [wire.meter_data_collection(meters)]) == [meters_name(meters)]


def test_an_array_is_split_byte_for_byte() -> None:
    records = [b'{"a":"},{\\u00e9","b":[1,2]}', '"é"'.encode(), b"{}"]
    assert split_array((b"[%b]" % b",".join(records)).decode()) == records
    assert split_array("[]") == []


def test_notes_are_read_back(tmp_path: Path) -> None:
    path = tmp_path / "notes"
    path.write_bytes(as_lines(Signal.SEGMENT, ["1", "2", "1"]) + as_lines(Signal.EVENT, ["abc"]))
    found = read_names(path)
    assert found[Signal.SEGMENT] == {"1": 2, "2": 1}
    assert found[Signal.EVENT] == {"abc": 1}
    assert not found[Signal.LOG]


LINE = '{"at": %d, "rss": 1, "descriptors": 2, "threads": 3, "tasks": 4, "ledgers": {"segment": {"offered": 5}}}\n'


def test_samples_are_read_but_for_one_that_is_half_written(tmp_path: Path) -> None:
    path = tmp_path / "samples"
    assert read_samples(path) == []
    assert read_last_sample(path) is None
    path.write_text(LINE % 1 + LINE % 2 + (LINE % 3)[:20])
    samples: list[Sample] = read_samples(path)
    assert [sample.at for sample in samples] == [1, 2]
    assert read_last_sample(path) == samples[-1]
    assert samples[-1].ledgers[Signal.SEGMENT].offered == 5


def test_the_output_is_divided_into_complaints_and_the_agents_own_lines(tmp_path: Path) -> None:
    path = tmp_path / "output"
    path.write_text(
        'INFO: started\nswagent {"at": 1.5, "level": "WARNING", "form": "no %s", "text": "no Traceback ("}\n'
        "Traceback (most recent call last):\n  File x\nsys:1: ResourceWarning: unclosed socket\n"
    )
    complaints, log = read_output(path)
    assert complaints == ["Traceback (most recent call last):", "sys:1: ResourceWarning: unclosed socket"]
    assert [(line.at, line.form) for line in log] == [(1.5, "no %s")]
