"""The content of a span: tags, logs and errors, bounded and visibly cut, whatever the application hands in."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from swagent import Span, exit_span, local_span
from swagent.record import limits
from swagent.record.limits import (
    MAX_FRAMES,
    MAX_LOGS,
    MAX_MESSAGE,
    MAX_NAME,
    MAX_TAGS,
    MAX_VALUE,
    leave_out_frames_in,
    short,
    stack_text,
)
from swagent.record.trace.model import SpanRecord

from .recorded import Recorder

_MARK = "…[truncated]"


class _Mute:
    def __str__(self) -> str:
        raise ValueError("no text")

    __repr__ = __str__


class _MuteError(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")


def _failed_with(span: SpanRecord) -> dict[str, str]:
    assert span.failed
    ((_, fields),) = span.logs
    return dict(fields)


def _dive(depth: int) -> None:
    if depth == 0:
        raise LookupError("at the bottom")
    _dive(depth - 1)


@given(st.text(), st.integers(20, 50))
def test_a_text_is_cut_visibly_and_only_when_it_is_too_long(text: str, limit: int) -> None:
    cut = short(text, limit)
    assert len(cut) <= limit
    assert cut == text or (cut.endswith(_MARK) and len(text) > limit)


def test_tags_are_kept_in_order_as_text(recorder: Recorder) -> None:
    with local_span("work") as span:
        assert span.tag("items", 3).tag("ok", True).tag("items", "again") is span
        span.log(self="here", fields=1)
    span.tag("late", 1).log(late=1).error(LookupError())
    assert span.tags == [("items", "3"), ("ok", "True"), ("items", "again")]
    ((_, fields),) = span.logs
    assert dict(fields) == {"self": "here", "fields": "1"}, "a field may have any name"
    assert not span.failed, "after the end nothing changes"


def test_what_is_long_is_cut_visibly(recorder: Recorder) -> None:
    with exit_span("n" * 5000, "p" * 5000) as span:
        span.tag("k" * 5000, "v" * 5000)
        span.log(**{"event": "e" * 5000, "k" * 5000: 1})
        span.error(LookupError("m" * 5000))
    ((at, fields), (_, failure)) = span.logs
    assert span.start_time <= at <= span.end_time
    assert [len(text) for field in fields for text in field] == [5, MAX_VALUE, MAX_VALUE, 1]
    message = dict(failure)["message"]
    ((key, value),) = span.tags
    long = [span.name, span.peer, key, value, fields[0][1], fields[1][0], message]
    assert list(map(len, long)) == [MAX_NAME, *[MAX_VALUE] * 5, MAX_MESSAGE]
    assert all(text.endswith(_MARK) for text in long)


@pytest.mark.parametrize(
    ("add", "kept", "limit"),
    [
        (lambda span: span.tag("key", "value"), lambda span: span.tags, MAX_TAGS),
        (lambda span: span.log(event="again"), lambda span: span.logs, MAX_LOGS),
    ],
    ids=["tags", "logs"],
)
def test_beyond_the_limit_the_segment_says_that_something_is_missing(
    recorder: Recorder, add: Callable[[Span], object], kept: Callable[[Span], list[object]], limit: int
) -> None:
    with local_span("full") as span:
        for _ in range(limit):
            add(span)
    assert not recorder.of("full").limited
    with local_span("too full") as span:
        for _ in range(limit + 1):
            add(span)
    assert recorder.of("too full").limited
    assert len(kept(span)) == limit


def test_a_value_without_text_costs_only_its_text(recorder: Recorder) -> None:
    with local_span("work") as span:
        span.tag("mute", _Mute()).log(mute=_Mute()).error(_MuteError())
    assert span.tags == [("mute", "<_Mute without text>")]
    assert span.logs[0][1] == [("mute", "<_Mute without text>")]
    assert dict(span.logs[1][1])["message"] == "<_MuteError without text>"


@pytest.mark.parametrize("value", [None, 7, b"bytes", _Mute()])
def test_a_name_or_peer_that_is_no_text_does_not_hurt(recorder: Recorder, value: object) -> None:
    with exit_span(value, value) as span:  # type: ignore[arg-type]
        assert "sw8" in span.headers()
    assert type(span.name) is type(span.peer) is str


def test_an_exception_marks_the_span_and_goes_on(recorder: Recorder) -> None:
    error = anyio.ClosedResourceError("no such item")
    with pytest.raises(anyio.ClosedResourceError) as caught, local_span("request"), local_span("price"):
        raise error
    assert caught.value is error
    for name in ("request", "price"):
        fields = _failed_with(recorder.span(name))
        stack = fields.pop("stack")
        kind = f"{anyio.ClosedResourceError.__module__}.ClosedResourceError"
        assert fields == {"event": "error", "error.kind": kind, "message": "no such item"}
        assert "in test_an_exception_marks_the_span_and_goes_on" in stack


def test_the_stack_holds_places_but_no_source_and_no_values(recorder: Recorder) -> None:
    def check(password: str) -> None:
        raise LookupError(len(password))  # but not this comment

    with pytest.raises(LookupError), local_span("work") as span:
        check("hunter2")
    fields = _failed_with(span)
    assert fields["error.kind"] == "LookupError", "a class of Python's own is named without its module"
    assert f'File "{__file__}"' in fields["stack"]
    assert "hunter2" not in fields["stack"]
    assert "but not this comment" not in fields["stack"]


def test_the_stack_leaves_wrappers_out(recorder: Recorder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "_wrapper_folders", ())
    wrapper = tmp_path / "wrappers" / "wrapper.py"
    source = "def call():\n    with local_span('work') as span:\n        seen.append(span)\n        [].pop()\n"
    seen: list[Span] = []
    names: dict[str, Any] = {"local_span": local_span, "seen": seen}
    exec(compile(source, wrapper, "exec"), names)  # noqa: S102, RUF100

    def use_library() -> None:
        with pytest.raises(IndexError):
            names["call"]()

    use_library()
    leave_out_frames_in(str(tmp_path / "wrap"))
    use_library()
    leave_out_frames_in(str(wrapper.parent))
    use_library()
    before, beside, stack = (_failed_with(span)["stack"].splitlines() for span in seen)
    assert before == beside
    assert [line for line in before if str(wrapper) in line] == before
    assert stack[-1].endswith(f"in {use_library.__name__}")
    assert not [line for line in stack if str(wrapper) in line]


def test_a_deep_stack_keeps_its_innermost_places(recorder: Recorder) -> None:
    with pytest.raises(LookupError) as caught, local_span("work") as span:
        _dive(200)
    stack = _failed_with(span)["stack"]
    innermost = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert stack.endswith(f"line {innermost.lineno}, in _dive")
    assert len(stack) <= MAX_VALUE
    assert len(stack.splitlines()) <= MAX_FRAMES + 1


def test_an_operation_can_be_marked_as_failed_without_an_exception(recorder: Recorder) -> None:
    with local_span("work") as span:
        span.error()
    assert span.failed
    assert span.logs == []


@pytest.mark.parametrize("is_cut", [False, True])
def test_where_a_stack_has_no_room_its_innermost_places_are_whole(is_cut: bool) -> None:
    """However long the places are: the mark of the frames that are left out takes room, too."""
    frame = sys._getframe()
    outer = [(frame, 10**30)] * MAX_FRAMES
    texts = [stack_text([*outer, (frame, 10**digits)], is_cut=is_cut) for digits in range(300)]
    assert {len(text) for text in texts} >= {MAX_VALUE - 1, MAX_VALUE}
    assert max(map(len, texts)) == MAX_VALUE
    for digits, text in enumerate(texts):
        assert text.startswith("…\n")
        assert text.endswith(f'\nFile "{__file__}", line {10**digits}, in {frame.f_code.co_name}')
