"""The searched text of a segment: its tags, operations, peers, kinds and messages of errors, as one text beside it.

The text is a list of pairs, `\\x1f` before each of them and at the end, `\\x1e` between name and value. So SQLite finds
`tenant=globex` by one look for `\\x1ftenant\\x1eglobex\\x1f`, and what is counted is split by one call.

A dictionary that turns words into numbers would need a look and maybe a row for each tag, and its words would have to
fall out one by one. This falls out with its segment, and costs the intake least, also where each value comes once, as
times and urls do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

LONGEST = 250
"""Characters of a value; of a longer one these are kept, and `CUT` after them and before all."""
MOST = 1000
"""Different pairs of a segment."""
BETWEEN, EQUALS, CUT = "\x1f", "\x1e", "\x1d"
ENDPOINT, OPERATION, PEER, ERROR = "\x01", "\x02", "\x03", "\x04"
"""The names of what is no tag: the operations of entry spans and of others, the peers of exits, kinds of errors."""
MESSAGE = "\x07"
"""The name of the messages of errors."""
SERVICE, INSTANCE = "\x05", "\x06"
"""The names under which values of separate columns are counted beside tags."""
_FEW = 16


def collect(pairs: list[str], span: Any, kind: int, operation: str, peer: str) -> None:
    """Add the pairs of a span's message.

    :param kind: by number: an entry span, an exit span, or neither
    """
    for tag in span.tags:
        pairs.append(f"{tag.key}\x1e{tag.value}")  # noqa: PERF401  (quicker than a list of its own for each span)
    pairs.append(("\x02\x1e" if kind else "\x01\x1e") + operation)
    if kind == 1 and peer:
        pairs.append(f"\x03\x1e{peer}")
    if span.isError:
        pairs += _errors(span.logs)


def _errors(logs: Iterable[Any]) -> list[str]:
    found: list[str] = []
    for field in (field for log in logs for field in log.data):
        if field.key == "error.kind":
            found.append(f"{ERROR}{EQUALS}{field.value}")
        elif field.key == "Traceback":  # the official Python agent names no kind beside it
            last = field.value.rstrip().rpartition("\n")[2]
            found.append(f"{ERROR}{EQUALS}{last.partition(':')[0]}")
            found.append(f"{MESSAGE}{EQUALS}{last.partition(': ')[2]}")
        elif field.key == "message":
            found.append(f"{MESSAGE}{EQUALS}{field.value}")
    return found


def text_of(pairs: Sequence[str]) -> str:
    """The text of pairs, each of them a name, `EQUALS` and a value.

    A value that has these signs in it makes pairs that no agent sent, and does no other harm.
    """
    text = BETWEEN.join(pairs)
    if len(pairs) > _FEW or len(text) > LONGEST:
        return _framed(dict.fromkeys(map(_short, pairs)))
    return f"{BETWEEN}{text}{BETWEEN}" if text else ""


def merged(texts: Iterable[str]) -> str:
    """The text of all pairs in some texts."""
    return _framed(dict.fromkeys(pair for text in texts for pair in text.split(BETWEEN) if pair and pair != CUT))


def _framed(pairs: Iterable[str]) -> str:
    kept = list(islice(pairs, MOST))
    if not kept:
        return ""
    # of what is not whole here, the segment itself is read
    head = CUT if len(kept) == MOST or any(pair.endswith(CUT) for pair in kept) else ""
    return f"{head}{BETWEEN}{BETWEEN.join(kept)}{BETWEEN}"


def _short(pair: str) -> str:
    if len(pair) <= LONGEST:
        return pair
    name, _, value = pair.partition(EQUALS)
    return f"{name[:LONGEST]}{EQUALS}{value if len(value) <= LONGEST else value[:LONGEST] + CUT}"
