"""A command line's choices, several at once."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence


def some(choices: Iterable[str]) -> Callable[[str], Sequence[str]]:
    """The type of an argument that names some of the choices, with commas between them."""

    def parse(text: str) -> Sequence[str]:
        found = text.split(",")
        if unknown := set(found) - set(choices):
            raise argparse.ArgumentTypeError(f"unknown: {','.join(sorted(unknown))}; choose from {','.join(choices)}")
        return found

    return parse
