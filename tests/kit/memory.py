"""How much memory something takes."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager

MIB = 2**20


@contextmanager
def takes_at_most(limit: int, *, keeps: int | None = None) -> Iterator[None]:
    """Fail when Python's memory grows too much within the block. All threads count.

    :param limit: bytes that it may take at any moment
    :param keeps: bytes that it may still have at the end
    """
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        yield
        _, peak = tracemalloc.get_traced_memory()
        if keeps is not None:
            gc.collect()  # an error's traceback refers to its batch
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak - before <= limit, f"{(peak - before) / MIB:.1f} MiB more, and {limit / MIB:.1f} are allowed"
    assert keeps is None or after - before <= keeps, f"{(after - before) / MIB:.1f} MiB are kept"
