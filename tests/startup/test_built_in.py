"""A function in the place of one of C is none that a class binds, and looks like the original."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import types
from typing import Any

import pytest

from swagent.built_in import in_place_of, is_in_place
from swagent.instrument.subclass import named_as

pytestmark = pytest.mark.skipif(sys.implementation.name != "cpython", reason="the function stays one of Python's")


def _double(*arguments: Any, **keywords: Any) -> tuple[Any, Any]:
    return arguments, keywords


def test_no_class_binds_it_and_it_takes_what_the_original_takes() -> None:
    class Owner:
        call = in_place_of(len, _double)

    assert Owner().call(1, x=2) == ((1,), {"x": 2})
    assert Owner.call() == ((), {})


@pytest.mark.parametrize(
    "ask",
    [
        repr, inspect.isbuiltin, inspect.isfunction, inspect.iscoroutinefunction, inspect.signature, callable,
        lambda each: each.__class__, lambda each: isinstance(each, types.BuiltinFunctionType),
        lambda each: (each.__name__, each.__qualname__, each.__module__, each.__doc__, each.__self__),
        lambda each: each.__text_signature__, lambda each: repr(type(each)), lambda each: hasattr(each, "nothing"),
    ],
)  # fmt: skip
def test_it_looks_like_the_original(ask: Any) -> None:
    assert ask(in_place_of(os.getcwd, _double)) == ask(os.getcwd)


def test_no_attribute_can_be_set_on_it() -> None:
    with pytest.raises(AttributeError):
        in_place_of(len, _double).own = 1


def test_a_function_of_python_stays_one_and_nothing_is_put_around_twice() -> None:
    assert in_place_of(_double, _double) is _double
    made = in_place_of(len, _double)
    assert is_in_place(made)
    assert named_as(len, made) is made


_LAUNCHER = """
import os

class Launcher:
    spawn, become = os.posix_spawn, os.execv

pid = Launcher().spawn("/bin/true", ["true"], {})
assert os.waitpid(pid, 0)[1] == 0
Launcher().become("/bin/echo", ["echo", "it became a program"])
"""


def test_a_class_that_has_functions_of_os_starts_programs() -> None:
    command = [sys.executable, "-m", "swagent", "run", "--", sys.executable, "-c", _LAUNCHER]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "it became a program\n"), done.stderr
