"""Objects that an application may hand to the agent by mistake, or by ill will, and their proper fate."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, NamedTuple

from swagent import Span, exit_span, local_span

# Lone surrogates, terminal controls, C1, and marks that turn the reading direction around.
NASTY = "a\ud800b\udfff\x00\x07\x1b[31m\x7f\x85\x9b\u202e\u2066z"
_MIB = 1024 * 1024


class PoisonError(Exception):
    """Raises whatever is asked of it."""

    def __str__(self) -> str:
        raise MemoryError

    __repr__ = __str__

    @property
    def __traceback__(self) -> Any:  # type: ignore[override]
        raise RuntimeError


class Bomb:
    """Raises when it is shown."""

    def __init__(self, error: type[Exception]) -> None:
        self._error = error

    def __str__(self) -> str:
        raise self._error("bomb")

    __repr__ = __str__


class Endless:
    """Recurses when it is shown."""

    def __str__(self) -> str:
        return str(self)


class NoText:
    """Says something that is no text."""

    def __str__(self) -> str:
        return 7  # type: ignore[return-value]


def _lie(*args: Any) -> Any:
    raise RuntimeError("liar")


class Liar(str):
    """A text with its own idea of every method."""

    __len__: Any = _lie
    __getitem__: Any = _lie
    __str__: Any = _lie
    __eq__: Any = _lie
    __contains__: Any = _lie
    __iter__: Any = _lie
    __hash__ = str.__hash__
    isprintable: Any = _lie
    isascii: Any = _lie
    encode: Any = _lie


class QuietLiar(Liar):
    """The same, but it can be shown."""

    def __str__(self) -> str:
        return self


class Poison(NamedTuple):
    """One record.

    :ivar record: makes it
    :ivar outcome: `delivered`, or the reason for which it alone is refused
    :ivar segments: how many records of the signal it comes to
    """

    record: Callable[[], object]
    outcome: str = "delivered"
    segments: int = 1


def tagged(*pairs: tuple[Any, Any], repeat: int = 1) -> Callable[[], object]:
    def record() -> None:
        with local_span("poison") as span:
            for key, value in pairs * repeat:
                span.tag(key, value)

    return record


def spanned(**fields: Any) -> Callable[[], object]:
    def record() -> None:
        with exit_span("poison", peer="stock:80", **fields):
            pass

    return record


def named(name: Any, peer: Any = "stock:80") -> Callable[[], object]:
    def record() -> None:
        with exit_span(name, peer=peer) as span:
            assert all(each.isascii() and each.isprintable() for each in span.headers().values())

    return record


def crowded(count: int, value: str = "") -> Callable[[], object]:
    def record() -> None:
        with local_span("poison"):
            for _ in range(count):
                with local_span("child") as span:
                    span.tag("value", value)

    return record


def logged(**fields: Any) -> Callable[[], object]:
    def record() -> None:
        with local_span("poison") as span:
            span.log(**fields)

    return record


def failed(error: Exception) -> Callable[[], object]:
    def record() -> None:
        with local_span("poison") as span:
            span.error(error)

    return record


def touched(change: Callable[[Span], object]) -> Callable[[], object]:
    def record() -> None:
        with local_span("poison") as span:
            change(span)

    return record


SEGMENTS: dict[str, Poison] = {
    "nasty texts in tags": Poison(tagged((NASTY, NASTY))),
    "nasty texts in names": Poison(named(NASTY, NASTY)),
    "nasty texts in logs": Poison(logged(**{NASTY: NASTY})),
    "line breaks in names": Poison(named("a\r\nb: c\n", "host:80\r\nx: y")),
    "None": Poison(tagged((None, None))),
    "None as names": Poison(named(None, None)),
    "bytes": Poison(tagged((b"\xff", b"\xff\xfe"))),
    "bytes as names": Poison(named(b"\xff", b"\xff")),
    "numbers": Poison(tagged((1, float("nan")), (2**70, -(2**70)), (True, complex(1, 2)))),
    "huge numbers": Poison(tagged(("n", 10**4400))),
    "a tag of 10 MB": Poison(tagged(("k" * 10 * _MIB, "v" * 10 * _MIB))),
    "names of 10 MB": Poison(named("n" * 10 * _MIB, "p" * 10 * _MIB)),
    "a log of 10 MB": Poison(logged(message="v" * 10 * _MIB)),
    "1,000 tags": Poison(tagged(("key", "value"), repeat=1000)),
    "a log of 1,000 fields": Poison(logged(**{f"f{number}": "v" for number in range(1000)})),
    "a text that raises": Poison(tagged((Bomb(ValueError), Bomb(MemoryError)))),
    "names that raise": Poison(named(Bomb(KeyError), Bomb(RecursionError))),
    "a text that recurses": Poison(tagged(("key", Endless()))),
    "a text that is none": Poison(tagged((NoText(), NoText()))),
    "a text that lies": Poison(tagged((Liar("key"), Liar("value")))),
    "a text that lies quietly": Poison(tagged((QuietLiar("key"), QuietLiar("value")))),
    "names that lie": Poison(named(QuietLiar("name"), QuietLiar("peer"))),
    "an exception that raises": Poison(failed(PoisonError())),
    # the root, and its children in parts
    "5,000 spans": Poison(crowded(5_000), segments=11),
    "512 spans of 1 KB": Poison(crowded(511, "v" * 1024), "too_large"),
    "512 spans of 4 KB": Poison(crowded(511, "\u20ac" * 1365), "too_large"),
    "a component beyond int32": Poison(spanned(component=2**31)),
    "a component below int32": Poison(spanned(component=-(2**31) - 1)),
    "a component beyond everything": Poison(spanned(component=10**400)),
    "a component that is a text": Poison(spanned(component="fastapi")),
    "a component that is None": Poison(spanned(component=None)),
    "a layer that is a list": Poison(spanned(layer=[])),
    "a layer that is unknown": Poison(spanned(layer=77)),
    "a start that is no time": Poison(touched(lambda span: setattr(span, "start_time", float("nan"))), "encode_error"),
    "an end before all time": Poison(touched(lambda span: setattr(span, "start_time", -1e300)), "encode_error"),
    "tags that are none": Poison(touched(lambda span: span.tags.append((None, 7))), "encode_error"),  # type: ignore[arg-type]
    "a nasty id": Poison(touched(lambda span: setattr(span.segment, "trace_id", NASTY))),
    "an id that is a number": Poison(touched(lambda span: setattr(span.segment, "id", 7)), "encode_error"),
}

logger = logging.getLogger("poisons")


def said(message: Any, *args: Any, **fields: Any) -> Callable[[], object]:
    def record() -> None:
        logger.error(message, *args, extra=fields)

    return record


def handled(**fields: Any) -> Callable[[], object]:
    """A record with some fields changed, as another library may make it."""

    def record() -> None:
        made = logging.makeLogRecord({"levelno": 40, "levelname": "ERROR", "name": "poisons", "msg": "poison"})
        made.__dict__.update(fields)
        logger.handle(made)

    return record


LOGS: dict[str, Poison] = {
    "nasty texts": Poison(said(NASTY + "%s", NASTY)),
    "None": Poison(said(None)),
    "bytes": Poison(said(b"\xff\xfe")),
    "10 MB": Poison(said("%s", "v" * 10 * _MIB)),
    "10 MB beyond ASCII": Poison(said("\u20ac" * 3 * _MIB)),
    "a text that raises": Poison(said("%s", Bomb(ValueError))),
    "a text that recurses": Poison(said("%s", Endless())),
    "a text that lies": Poison(said("%s", QuietLiar("value"))),
    "arguments that do not fit": Poison(said("%d %d", "one")),
    "a field that raises": Poison(said("message", mine=Bomb(KeyError))),
    "a thread with a nasty name": Poison(handled(threadName=NASTY)),
    "an exception that raises": Poison(handled(exc_info=(PoisonError, PoisonError(), None))),
    "a time that is none": Poison(handled(created=float("nan"), msecs=0.0)),
    "a time beyond all": Poison(handled(created=1e300, msecs=0.0), "encode_error"),
    "a time just beyond int64": Poison(handled(created=2.0**63 / 1000, msecs=0.0), "encode_error"),
}
