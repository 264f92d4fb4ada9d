"""The command line of a Python interpreter, read as the interpreter reads it."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# The next word is the value, unless the letter is the last one of its own word: -Werror, -IXdev.
_WITH_VALUE = frozenset("WX")
# The program follows, and all words behind it belong to it.
_PROGRAM = frozenset("cm")
# Long options whose value is the next word; PyPy has the second.
_LONG_WITH_VALUE = frozenset({"--check-hash-based-pycs", "--jit"})


class Interpreted:
    """The options of an interpreter, and the program that it runs.

    :ivar options: each option without a value, and the word that has it: `("E", "-IE")`
    :ivar script: a path; empty for a module, for `-c`, standard input and an interactive session
    :ivar module: the name behind `-m`
    """

    def __init__(self, options: list[tuple[str, str]], script: str = "", module: str = "") -> None:
        self.options = options
        self.script = script
        self.module = module

    @property
    def program(self) -> str:
        """The name of the script, without its folder and its ending, or of the module. Empty: neither of them."""
        name = self.script.replace(os.sep, "/").rpartition("/")[2]
        return self.module.partition(".")[0] or name.removesuffix(".exe").removesuffix(".py")


def read_command(command: Sequence[str]) -> Interpreted:
    """Read the command line of an interpreter. An unknown option is taken for one without a value.

    >>> read = read_command(["python3", "-W", "error", "-IB", "app.py", "-S"])
    >>> read.options, read.script
    ([('I', '-IB'), ('B', '-IB')], 'app.py')
    >>> read_command(["python3", "-um", "flask", "run"]).module
    'flask'
    >>> read_command(["python3", "-X", "dev", "/srv/manage.py", "runserver"]).program
    'manage'
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
