"""Log records that the accelerator looks at, notes and encodes are those of Python, field by field and byte by byte."""

from __future__ import annotations

import contextvars
import logging
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swagent.acceleration import native, reason
from swagent.pipeline.encoder import Encoder
from swagent.pipeline.log_encoder import LogEncoder
from swagent.record.logs.guard import Thread
from swagent.record.logs.layout import Layout
from swagent.record.logs.origin import NOWHERE
from swagent.record.logs.plain import FIELDS, NO_MORE, TASK_LETTERS
from swagent.record.logs.reader import Reader, RecordReader, make_reader
from swagent.record.logs.settings import LogSettings
from swagent.record.trace.context import current
from swagent.record.trace.model import SpanKind
from swagent_proto.messages import LogData

if native is None:
    pytest.skip(reason, allow_module_level=True)

LAYOUTS = st.sampled_from([
    LogSettings().layout,
    "%(message)s",
    "[%(tid)s] %(message)s %(levelno)s %(lineno)s %(message)s",
    "%(asctime)s %(asctime)s é",
    "100 %% %(message)s",
    "nothing",
])  # fmt: skip
TEXTS = st.one_of(
    st.text(max_size=12),
    st.text(alphabet="abc %sd~^`<\t\n\r\x00\x1b\x7f", max_size=40),
    st.sampled_from(["", "a" * 2048, "a" * 2049, "é" * 1100, "\ud800", "%s", "%d of %s", "träge"]),
)
VALUES = st.one_of(TEXTS, st.integers(), st.floats(), st.booleans(), st.none(), st.just(object()), st.just(b"bytes"))


class Text(str):
    __slots__ = ()


class Entry:
    """As a span or a request is active."""

    kind = SpanKind.LOCAL
    frame = None
    previous = None

    def __init__(self, trace_id: str, ended: bool, origin: Any) -> None:
        self.trace_id = trace_id
        self.is_recorded = bool(trace_id)
        self.ended = ended
        self.origin = origin

    def age(self) -> float:
        return 1.0

    def find_trace_id(self) -> str:
        return self.trace_id

    def note_origin(self) -> Any:
        return self.origin


ENTRIES = st.none() | st.builds(Entry, st.sampled_from(["", "trace-1"]), st.booleans(), st.none() | st.just(NOWHERE))
ODD_FIELDS: Any = st.dictionaries(
    st.sampled_from(["levelno", "name", "threadName", "levelname", "created", "msecs", "exc_info", "args", "tid"]),
    st.sampled_from([10, 40, 2**70, True, 30.5, "30", "swagent.x", "swagen", Text("shop"), None, (), {}, (1, "a")]),
    max_size=2,
)


def readers(level: int, layout: str) -> tuple[Reader, Reader]:
    made = Layout(LogSettings(layout=layout))
    return make_reader(level, made), RecordReader(level, made)


def in_context(entry: Any, call: Callable[[], Any]) -> Any:
    def run() -> Any:
        current.set(entry)
        return call()

    return contextvars.Context().run(run)


def comparable(found: Any) -> Any:
    """With classes, since 1 == True; what is no number is as good as another one."""
    return [(type(each), repr(each)) for each in found] if isinstance(found, tuple) else found


@given(
    level=st.sampled_from([0, 30, 31, 2**80]), layout=LAYOUTS, message=VALUES, args=st.lists(VALUES, max_size=3),
    odd=ODD_FIELDS, entry=ENTRIES,
)  # fmt: skip
def test_a_record_is_looked_at_and_noted_alike(
    level: int, layout: str, message: Any, args: list[Any], odd: dict[str, Any], entry: Any
) -> None:
    found = []
    for reader in readers(level, layout):
        record = logging.LogRecord("shop", 30, "shop.py", 7, message, tuple(args), None)
        record.created, record.msecs = 1_790_000_000.123, 123.0
        record.__dict__.update(odd)
        active = in_context(entry, partial(reader.look, record))
        noted = None
        if active is not False:
            noted = reader.note(Thread(), record, active)
        found.append((active, record.__dict__.get("tid"), comparable(noted)))
    assert found[0] == found[1]


def test_a_level_that_c_cannot_hold_is_compared_by_python() -> None:
    record = logging.LogRecord("shop", 2**70, "shop.py", 7, "sold out", (), None)
    looked = [make_reader(level, Layout(LogSettings())).look(record) for level in (2**63 - 1, 2**63, 2**70, 2**70 + 1)]
    assert looked == [None, None, None, False]


class Foreign(logging.LogRecord):
    @property
    def levelno(self) -> Any:
        raise ValueError("of the application")

    @levelno.setter
    def levelno(self, _: Any) -> None: ...


def test_a_foreign_record_is_left_to_python() -> None:
    reader, _ = readers(0, "%(message)s")
    record = Foreign("shop", 30, "shop.py", 7, "sold out", (), None)
    assert reader.look(record) is False
    assert record.tid == "N/A"  # type: ignore[attr-defined]
    assert reader.note(Thread(), record, None) is None


@pytest.mark.parametrize("name", ["find_trace_id", "note_origin"])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_stays_here_and_an_interrupt_passes(name: str, error: type[BaseException]) -> None:
    def fail() -> Any:
        raise error

    entry = Entry("trace-1", ended=False, origin=None)
    setattr(entry, name, fail)
    thread = Thread()
    for reader in readers(0, "%(message)s"):
        record = logging.LogRecord("shop", 30, "shop.py", 7, "sold out", (), None)

        def use(reader: Reader = reader, record: logging.LogRecord = record) -> Any:
            active = reader.look(record)
            return active is not False and reader.note(thread, record, active)

        if error is KeyboardInterrupt:
            with pytest.raises(KeyboardInterrupt):
                in_context(entry, use)
        else:
            assert not in_context(entry, use)
        assert not thread.reporting


def test_inside_the_reporting_of_another_nothing_is_noted() -> None:
    record = logging.LogRecord("shop", 30, "shop.py", 7, "sold out", (), None)
    thread = Thread()
    thread.reporting = True
    for reader in readers(0, "%(message)s"):
        assert reader.note(thread, record, None) is None
        assert thread.reporting


def rows_of(encode: Callable[[], object]) -> tuple[list[Any], Any]:
    class Channel:
        ring_at = 1000

    pending: list[Any] = []
    assert native is not None
    return pending, native.LogRows(pending, 2 * (FIELDS + 2), encode, Channel(), lambda: 12.5)


def test_what_is_noted_is_handed_over_at_once() -> None:
    full: list[object] = []
    pending, rows = rows_of(lambda: full.append(True))
    made = Layout(LogSettings(layout="%(message)s"))
    reader, python = make_reader(0, made, rows), RecordReader(0, made)
    record = logging.LogRecord("shop", 30, "shop.py", 7, "%s sold out", ("tea",), None)
    assert reader.note(Thread(), record, None) is True
    expected = python.note(Thread(), record, None)
    assert expected is not None
    assert pending == [*expected, None, 12.5]
    assert not full
    rows(expected, "converted")
    assert pending[FIELDS + 2 :] == [*expected, "converted", 12.5]
    assert full == [True]


def test_an_error_of_the_intake_costs_its_record_and_is_warned_of() -> None:
    errors: list[Exception] = []

    def fail() -> None:
        raise OSError("full")

    _, rows = rows_of(fail)
    reader = make_reader(0, Layout(LogSettings(layout="%(message)s")), rows, errors.append)
    record = logging.LogRecord("shop", 30, "shop.py", 7, "sold out", (), None)
    assert reader.note(Thread(), record, None) is True
    assert not errors
    assert reader.note(Thread(), record, None) is True
    assert [str(error) for error in errors] == ["full"]


# -- bytes --------------------------------------------------------------------------------------------------------


class Request:
    def __init__(self, place: Any) -> None:
        self.place = place

    def late_origin(self) -> Any:
        return self.place


IDS = st.sampled_from(["", "~", "<~~", "^^", "%", "b" * 37, "f" * 32, "a.b.1", "träce", "x" * 200, "\x00"])
PLACES = st.none() | st.tuples(TEXTS, IDS.filter(bool), IDS, st.integers(-1, 300))
ORIGINS = st.just(NOWHERE) | PLACES.filter(bool) | PLACES.map(Request)
SECONDS = st.one_of(
    st.floats(0, 2.0**33), st.sampled_from([0.0, -1.5, 0.0005, 1e300, float("nan"), float("inf"), 1_790_000_000.999])
)
ODD_PARTS = st.sampled_from([-0.5, -2.0, 1000.0, float("nan")])
MORE = st.sampled_from([None, 7, True, -0.0, "é\n", "\x1b", "x" * 3000])


@settings(deadline=None, max_examples=50)
@given(data=st.data(), layout=LAYOUTS)
def test_a_group_becomes_the_same_bytes(data: st.DataObject, layout: str) -> None:
    made = Layout(LogSettings(layout=layout))
    more = st.tuples(*[MORE] * len(made.more)) if made.more else st.just(NO_MORE)
    names = st.sampled_from(["shop", "a %s b", "é", "\x1b", ""]) | TEXTS
    row = st.tuples(names, names, names, SECONDS, st.floats(0, 999.9) | ODD_PARTS, TEXTS, more, TEXTS, ORIGINS)
    rows = data.draw(st.lists(row, min_size=1, max_size=4))
    encoder, python = LogEncoder(Encoder("protobuf", "shop", "one"), made), make_python_encoder(made)
    for _ in range(2):  # the second time all parts are known
        ours = encoder.encode_alike(list(zip(*rows, strict=True)))
        for plain, written in zip(rows, ours, strict=True):
            assert written is None or written == python.encode_plain(plain), LogData().parse(written)
            (alike,) = python.encode_alike([[each] for each in plain])
            # most that is encoded in a group there is here, too
            is_odd = not 0 <= plain[4] < 1000 or not 1 <= plain[3] * 1000 < 1e18
            assert written is not None or alike is None or is_odd or has_long_id(plain[8]) or len(alike) > 1500


def has_long_id(origin: Any) -> bool:
    """Such an id is left to Python; the ids of every tracer are shorter."""
    place = origin.place if isinstance(origin, Request) else origin
    return place is not None and max(len(place[1]), len(place[2])) > TASK_LETTERS


def make_python_encoder(layout: Layout) -> LogEncoder:
    python = LogEncoder(Encoder("protobuf", "shop", "one"), layout)
    python._native = None
    return python


USUAL = ("WARNING", "shop", "MainThread", 1_790_000_000.123, 123.0, "sold out", NO_MORE, "Task-7",
         ("GET:/items/{id}", "a" * 32, "a.1.2", 0))  # fmt: skip


@pytest.mark.parametrize("field", range(FIELDS))
@pytest.mark.parametrize("value", [None, 7, b"bytes", Text("text"), (), ("", "", "", None), ("", "a", 5, 0), object()])
def test_a_value_that_no_record_has_ends_nothing(field: int, value: Any) -> None:
    encoder = LogEncoder(Encoder("protobuf", "shop", "one"), Layout(LogSettings()))
    odd = [*USUAL]
    odd[field] = value
    first, second = encoder.encode_alike(list(zip(USUAL, odd, strict=True)))
    assert first is not None
    assert second is None or field == 6  # the layout shows no more
