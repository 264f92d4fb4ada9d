"""Each allocation of a request fails once, and the request is served all the same, or the application gets that
MemoryError; the next request is served and recorded.

    python -m native.starving
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import logging
from collections import Counter
from collections.abc import Callable
from typing import Any

from native.one_request import Served, lives

_MOST = 3000
_PATIENCE = 100


def starve(served: Served, make: Callable[[Served], object], record: Callable[[], int]) -> Counter[str]:
    """Let the first allocation fail, then the second, and so on until a request needs no more.

    :param make: makes one request
    :param record: what has been recorded, which is taken away
    """
    testing: Any = importlib.import_module("_testcapi")
    found: Counter[str] = Counter()
    usual, calm = _outcome(served, make, lambda: None), 0
    record()
    for number in range(_MOST):
        outcome = _outcome(served, make, lambda number=number: testing.set_nomemory(number, number + 1))  # type: ignore[misc]
        found[outcome] += 1
        record()
        # and the one after it
        with contextlib.suppress(ValueError, asyncio.CancelledError):
            make(served)
        found["next is recorded" if record() else "next is lost"] += 1
        calm = calm + 1 if outcome == usual else 0
        if calm > _PATIENCE:
            break
    return found


def _outcome(served: Served, make: Callable[[Served], object], prepare: Callable[[], object]) -> str:
    testing: Any = importlib.import_module("_testcapi")
    before = served.sent
    caught: BaseException | None = None
    prepare()
    try:
        make(served)
    except BaseException as error:
        caught = error
    testing.remove_mem_hooks()
    if caught is not None:
        return _name(caught)
    return "served" if served.sent > before else "not served"


def _name(error: BaseException) -> str:
    """Of its class. The interpreter itself makes a SystemError of some failures, as when it has no memory for a
    traceback; one that names the accelerator is a fault of ours."""
    is_ours = isinstance(error, SystemError) and "swagent_native" in str(error)
    return f"SystemError: {error}" if is_ours else type(error).__name__


def main() -> None:
    """Prints the outcomes of each kind of request."""
    logging.getLogger("swagent").setLevel(logging.CRITICAL)
    logging.getLogger().addHandler(logging.NullHandler())
    kinds = lives()
    for name in ("odd", "split", "cancelled query", "closed query", "unawaited"):
        del kinds[name]
    found: dict[str, dict[str, int]] = {}
    for name, (served, make) in kinds.items():
        served.recorder.begin()
        found[name] = dict(starve(served, make, served.count))
        served.recorder.end()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
