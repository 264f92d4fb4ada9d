"""The parameters of a request to the API, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.requests import Request

MAX_LIMIT = 1000
_LONGEST = 1000
_LARGEST = 2**62


class Parameters:
    """The parts of the path and the query. Every method raises ValueError, naming the parameter and what it takes."""

    def __init__(self, path: Mapping[str, Any], query: Mapping[str, str]) -> None:
        self._path = path
        self._query = query

    @classmethod
    def of(cls, request: Request) -> Parameters:
        """Those of a request."""
        return cls(request.path_params, request.query_params)

    def path(self, name: str) -> str:
        """A part of the path."""
        text: str = self._path[name]
        return text

    def text(self, name: str) -> str:
        """A text, empty where it is not given."""
        text = self._query.get(name, "")
        if len(text) > _LONGEST:
            raise ValueError(f"{name}: takes at most {_LONGEST} characters, not {len(text)}")
        return text

    def needed(self, name: str) -> str:
        """A text that must be given; it may be empty."""
        if name not in self._query:
            raise ValueError(f"{name}: is missing")
        return self.text(name)

    def number(self, name: str, default: int) -> int:
        """A whole number."""
        text = self.text(name)
        if not text:
            return default
        try:
            number = int(text)
        except ValueError:
            raise ValueError(f"{name}: takes a whole number, not {text!r}") from None
        if abs(number) > _LARGEST:
            raise ValueError(f"{name}: {text} is too large")
        return number

    def moment(self, name: str) -> int:
        """A time that must be given."""
        if not self.needed(name):
            raise ValueError(f"{name}: takes a time, in milliseconds since the epoch")
        return self.number(name, 0)

    def bounds(self) -> dict[str, int]:
        """The time that is asked for: `from` and `to`, those that are given."""
        return {name: self.number(name, 0) for name in ("from", "to") if self.text(name)}

    def limit(self, default: int) -> int:
        """How many elements are wanted."""
        number = self.number("limit", default)
        if not 1 <= number <= MAX_LIMIT:
            raise ValueError(f"limit: takes 1 to {MAX_LIMIT}, not {number}")
        return number

    def choice(self, name: str, choices: Sequence[str]) -> str:
        """One of some words, the first where it is not given."""
        text = self.text(name) or choices[0]
        if text not in choices:
            raise ValueError(f"{name}: takes {' or '.join(choices)}, not {text!r}")
        return text

    def present(
        self, texts: Sequence[str] = (), numbers: Sequence[str] = (), flags: Sequence[str] = ()
    ) -> dict[str, Any]:
        """Those of some parameters that are given and not empty."""
        found: dict[str, Any] = {name: self.text(name) for name in texts if self.text(name)}
        found |= {name: self.number(name, 0) for name in numbers if self.text(name)}
        found |= {name: True for name in flags if self.choice(name, ("0", "1")) == "1"}
        return found
