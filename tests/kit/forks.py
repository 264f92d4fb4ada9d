"""Running a part of a test in a forked child."""

from __future__ import annotations

import os
import sys
import threading
import traceback
from collections.abc import Callable

import pytest

# The marks that a module of such tests needs.
FORKS = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork"),
    # Python 3.12 and later warn of what these tests are about
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]


def in_a_child(body: Callable[[], None]) -> None:
    """Run a function in a forked child, and fail if it fails or hangs there."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            body()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    done = threading.Event()
    codes: list[int] = []

    def wait() -> None:
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        done.set()

    threading.Thread(target=wait).start()
    if not done.wait(10):
        os.kill(child, 9)
    assert done.wait(10)
    assert codes == [0]


def said_by_a_child(text: Callable[[], str]) -> str:
    """What a function returns in a forked child."""
    reading, writing = os.pipe()

    def say() -> None:
        os.write(writing, text().encode())

    in_a_child(say)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        return pipe.read()
