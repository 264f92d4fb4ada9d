"""Names, labels and buckets of meters. Those that a developer writes are checked; those that come at run time are made
to fit.

The collector takes the meters of one period as one set, and one label that it cannot take costs the whole set. So this
module passes nothing of the kind on: no label twice, none of the names that the collector adds itself, and no character
that is replaced later, which could make two names equal.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import cast

from ...agent_log import RateLimitedLog
from ..limits import as_text, short
from .samples import Labels

_limited = RateLimitedLog()

MAX_NAME = 128
MAX_LABELS = 16
MAX_LABEL_NAME = 64
MAX_LABEL_VALUE = 128
MAX_BUCKETS = 256
# The collector adds the first two to each meter, and the third to each bucket of a histogram.
RESERVED = frozenset({"service", "instance", "le"})
OVERFLOW: Labels = (("_overflow", "true"),)

GivenLabels = Mapping[str, object] | Iterable[tuple[str, object]]


def check_name(name: str) -> str:
    """A meter's name, as its developer gave it. If the collector's rules cannot refer to it, a warning is logged.

    :raises ValueError: when it is blank, too long, or has characters that cannot be printed
    """
    name = _checked("a meter's name", name, MAX_NAME)
    if not (name.isidentifier() and name.isascii()):
        _limited.warn(
            "meter name", "the collector's rules can only refer to a meter by letters, digits and underscores: %r", name
        )
    return name


def check_labels(labels: GivenLabels) -> Labels:
    """Labels, as a developer gave them.

    :raises ValueError: when a name cannot be used or is there twice, or when there are too many
    """
    pairs = list(dict(cast("Mapping[str, object]", labels)).items() if isinstance(labels, Mapping) else labels)
    known = {_checked("a label's name", name, MAX_LABEL_NAME): value for name, value in pairs}
    if reserved := RESERVED.intersection(known):
        raise ValueError(f"the collector itself sets {sorted(reserved)}; give the label another name")
    if len(known) < len(pairs):
        raise ValueError(f"a label is given twice: {[name for name, _ in pairs]}")
    if len(known) > MAX_LABELS:
        raise ValueError(f"{len(known)} labels; at most {MAX_LABELS} are possible")
    return with_labels((), known)


def check_bounds(buckets: Iterable[float], min_value: float) -> tuple[float, ...]:
    """A histogram's lower bounds, as a developer gave them: sorted, and from the lowest value on.

    :raises ValueError: when they are none, too many, not numbers, or below the lowest value
    """
    try:
        given = {float(each) for each in buckets}
        lowest = -math.inf if -math.inf in given else float(min_value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"buckets are numbers: {buckets!r} from {min_value!r}") from None
    bounds = given - {-math.inf}
    if not given or not all(map(math.isfinite, bounds)):
        raise ValueError(f"buckets are one or more finite numbers: {given or '{}'}")
    if not all(lowest <= each for each in bounds):
        raise ValueError(f"a bucket of {sorted(bounds)} is below the lowest value {min_value}")
    if len(bounds) >= MAX_BUCKETS:
        raise ValueError(f"{len(bounds)} buckets; less than {MAX_BUCKETS} are possible")
    return tuple(sorted({lowest, *bounds}))


def with_labels(labels: Labels, more: Mapping[str, object]) -> Labels:
    """Labels with others added or replaced, at run time. Nothing is refused: what does not fit is made to fit."""
    fitting = dict(labels)
    for name, value in more.items():
        usable = _usable(name)
        if usable in fitting or len(fitting) < MAX_LABELS:
            fitting[usable] = short(_plain(as_text(value)), MAX_LABEL_VALUE)
    return tuple(sorted(fitting.items()))


def _plain(text: str) -> str:
    """The text as a plain `str`: an object of a subclass could change later."""
    return str.__str__(text)


def _usable(name: str) -> str:
    name = _plain(name)
    if name in RESERVED:
        return f"{name}_"
    if not name.isprintable():
        name = "".join(each if each.isprintable() else "_" for each in name)
    return name[:MAX_LABEL_NAME]


def _checked(what: str, text: str, limit: int) -> str:
    # a type checker knows that it is a text; an application without one finds out here
    if not (isinstance(text, str) and text.strip() and text.isprintable()):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"{what} is a text that can be printed, not {text!r}")
    if len(text) > limit:
        raise ValueError(f"{what} has at most {limit} characters: {text!r}")
    return _plain(text)
