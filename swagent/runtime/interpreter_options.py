"""The command line of a Python interpreter, read as the interpreter reads it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

# The next word is the value, unless the letter is the last one of its own word: -Werror, -IXdev.
_WITH_VALUE = frozenset("WX")
# The program follows, and all words behind it belong to it.
_PROGRAM = frozenset("cm")
# Long options whose value is the next word; PyPy has the second.
_LONG_WITH_VALUE = frozenset({"--check-hash-based-pycs", "--jit"})


class Interpreted(NamedTuple):
    """The options of an interpreter, and the program that it runs."""

    options: list[tuple[str, str]]
    """Each option without a value, and the word that has it: `("E", "-IE")`."""
    script: str = ""
    """A path; empty for a module, for `-c`, standard input and an interactive session."""
    module: str = ""
    """The name behind `-m`."""


def read_command(command: Sequence[str]) -> Interpreted:
    """Read the command line of an interpreter. An unknown option is taken for one without a value.

    >>> read_command(["python3", "-W", "error", "-IB", "app.py", "-S"])
    Interpreted(options=[('I', '-IB'), ('B', '-IB')], script='app.py', module='')
    >>> read_command(["python3", "-um", "flask", "run"]).module
    'flask'
    """
    options: list[tuple[str, str]] = []
    words = iter(command[1:])
    for word in words:
        if word == "--":
            return Interpreted(options, script=next(words, ""))
        if word == "-" or not word.startswith("-"):
            return Interpreted(options, script=word.removeprefix("-"))
        if word.startswith("--"):
            if word in _LONG_WITH_VALUE:
                next(words, None)
            continue
        for at, letter in enumerate(word[1:], start=2):
            if letter not in _WITH_VALUE and letter not in _PROGRAM:
                options.append((letter, word))
                continue
            value = word[at:] or next(words, "")
            if letter in _PROGRAM:
                return Interpreted(options, module=value if letter == "m" else "")
            break
    return Interpreted(options)
