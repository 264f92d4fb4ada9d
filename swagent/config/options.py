"""How one option is read and checked: from its text in the environment, or from a value given in code.

Parsers turn text into a value or raise `ValueError`. Then the option's `allowed` text shows the user the accepted
values.
"""

from __future__ import annotations

import ipaddress
import json
import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import unquote

from ..text import one_line


class Option(NamedTuple):
    """One line of the option table; the environment, the checks and the documentation come from it."""

    env: str
    help: str
    allowed: str
    parse: Callable[[str], Any]
    check: Callable[[Any], Any]
    """Takes a value from code or from `parse`, returns it normalised, raises ValueError or TypeError."""
    secret: bool = False
    is_address: bool = False
    """Whether its value may be a URL, and so hold credentials."""

    def shown(self, value: Any) -> Any:
        """The value as errors and reports may show it; the very same object where there is nothing to hide."""
        if self.secret:
            return "***"
        return without_credentials(value) if self.is_address else value


def without_credentials(value: Any) -> Any:
    """The value itself. If its text has an `@`, that text with `***` for all before the last one: a password may
    contain any other character, also the commas between addresses.
    """
    _, at, rest = _joined(value).rpartition("@")
    return f"***@{rest}" if at else value


def _joined(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)  # pyright: ignore[reportUnknownArgumentType]


class Secret:
    """A text that no log line and no repr shows. `reveal()` is the only way to its content."""

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The secret itself."""
        return self._text

    def __bool__(self) -> bool:
        return bool(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        return "Secret('***')" if self._text else "Secret('')"

    __str__ = __repr__


@dataclass(frozen=True)
class Address:
    """Where one collector listens."""

    host: str
    port: int
    tls: bool

    @property
    def is_loopback(self) -> bool:
        """Whether the traffic stays on this machine."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def is_exposed(self) -> bool:
        """Whether what goes there can be read on its way."""
        return not self.tls and not self.is_loopback

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


_SCHEMES = {"": False, "grpc": False, "http": False, "grpcs": True, "https": True}
_ADDRESS = re.compile(
    r"(?:(\w+)://)?"
    r"(?:\[([0-9A-Za-z:.%_~-]+)]|([^][\s\0-\x1f\x7f-\x9f/?#@:\\]+))"  # IPv6 in brackets, or a name
    r":([0-9]{1,5})/?"
)


def parse_address(text: str, force_tls: bool = False) -> Address:
    """Read `host:port`, `[v6]:port` or `scheme://host:port` (`grpc`, `grpcs`, `http`, `https`).

    `urlsplit` is not used: it drops line breaks silently, and only some versions are strict about brackets.

    :raises ValueError: when host or port is missing, or the scheme is another one
    """
    match = _ADDRESS.fullmatch(text.strip())
    if match is None:
        raise ValueError(text)
    scheme, v6, name, port = match.groups()
    scheme = (scheme or "").lower()
    if scheme not in _SCHEMES or not 0 < int(port) < 65536:
        raise ValueError(text)
    host = str(ipaddress.IPv6Address(v6)) if v6 else name.lower()
    return Address(host, int(port), _SCHEMES[scheme] or force_tls)


_TRUE = ("true", "t", "yes", "y", "on", "1")
_FALSE = ("false", "f", "no", "n", "off", "0")
BOOLEANS = f"{', '.join(_TRUE)}, or {', '.join(_FALSE)}"


def parse_bool(text: str) -> bool:
    """Read a word for yes or no, in any case.

    The official agent knows `true` and `false` alone and takes every other word for the default. That would leave TLS
    off for a user of `SW_AGENT_FORCE_TLS=1`, so here such a word has its usual meaning.
    """
    lowered = text.strip().lower()
    if lowered not in _TRUE + _FALSE:
        raise ValueError(text)
    return lowered in _TRUE


def parse_list(text: str) -> tuple[str, ...]:
    """Read a comma-separated list; blanks around and empty elements do not count."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def parse_object(text: str) -> dict[str, str]:
    """Read a JSON object of text values."""
    value: Any = json.loads(text) if text.strip() else {}
    return check_object(value)


def check_object(value: Any) -> dict[str, str]:
    """A mapping of text to text; numbers and booleans become text."""
    if not isinstance(value, Mapping):
        raise TypeError(value)
    scalars = (str, int, float, bool)
    items: list[tuple[Any, Any]] = list(value.items())  # pyright: ignore[reportUnknownArgumentType]
    if not all(isinstance(key, str) and isinstance(item, scalars) for key, item in items):
        raise ValueError(items)
    return {key: str(item) for key, item in items}


def check_list(value: Any) -> tuple[str, ...]:
    """A comma-separated text or a sequence of texts."""
    if isinstance(value, str):
        return parse_list(value)
    items: tuple[Any, ...] = tuple(value)
    if not all(isinstance(item, str) for item in items):
        raise TypeError(value)
    return items


def check_text(value: Any) -> str:
    """Any text."""
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def check_filled(value: Any) -> str:
    """A text that is not blank."""
    if not check_text(value).strip():
        raise ValueError(value)
    return check_text(value).strip()


def check_line(value: Any) -> str:
    """A text of one line without control characters: it goes into headers, keys and log lines."""
    text = check_text(value)
    if one_line(text) != text:
        raise ValueError(text)
    return text


def check_name(value: Any) -> str:
    """A text of one line that is not blank."""
    return check_line(check_filled(value))


def check_bool(value: Any) -> bool:
    """True or False, nothing that merely looks like it."""
    if not isinstance(value, bool):
        raise TypeError(value)
    return value


def check_secret(value: Any) -> Secret:
    """A text without control characters and without blanks around it, since it travels in a header."""
    text = value.reveal() if isinstance(value, Secret) else check_text(value)
    if not (text.isascii() and text.isprintable()) or text != text.strip():
        raise ValueError("***")
    return Secret(text)


_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_RESERVED = frozenset(
    {"connection", "content-encoding", "content-length", "content-type", "host", "te", "transfer-encoding"}
)


def parse_headers(text: str) -> dict[str, str]:
    """Read `name=value,name=value`, with values in percent encoding, as OpenTelemetry's variables have them. Names are
    in lower case.

    :raises ValueError: when that is not what it is; shows nothing of it
    """
    found: dict[str, str] = {}
    for part in filter(None, map(str.strip, text.split(","))):
        name, equals, value = part.partition("=")
        name, value = name.strip().lower(), unquote(value.strip())
        if not equals or not _TOKEN.fullmatch(name) or name in _RESERVED:
            raise ValueError("***")
        found[name] = check_secret(value).reveal()
    return found


def check_headers(value: Any) -> Secret:
    """Headers as a text that `parse_headers` reads."""
    text = value.reveal() if isinstance(value, Secret) else check_text(value)
    parse_headers(text)
    return Secret(text)


def check_path(value: Any) -> str:
    """The path of a URL, or an empty text."""
    path = check_text(value)
    if (path and not re.fullmatch("/[!-~]*", path)) or "?" in path or "#" in path:
        raise ValueError(path)
    return path


def between(kind: type[int | float], low: float, high: float) -> Callable[[Any], Any]:
    """A check for a number within bounds, both included."""

    def check(value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
            raise ValueError(value)
        if kind is int and value != int(value):
            raise ValueError(value)
        return kind(value)

    return check


def one_of(*choices: str) -> Callable[[Any], str]:
    """A check for one of a few words, in any case."""

    def check(value: Any) -> str:
        word = check_text(value).strip().lower()
        if word not in choices:
            raise ValueError(value)
        return word

    return check


def check_level(value: Any) -> str:
    """A level of `logging`, by its name in any case or by its number."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    word = check_filled(value).upper()
    if word.isdecimal() and word.isascii():
        return str(between(int, 0, 1000)(int(word[:5])))
    if level_number(word) is None:
        raise ValueError(value)
    return word


def level_number(name: str) -> int | None:
    """The number of a level of `logging`, None for a name that it does not know."""
    # Python 3.10 has no other way to get the numbers of all names, the application's own included
    number_of: Callable[[str], Any] = logging.getLevelName
    number = number_of(name)
    return number if isinstance(number, int) else None


class _AnyRecord(dict[str, Any]):
    """Replaces a log record in a trial of the layout. Fields that an application adds are not known before there is a
    record: 0 suits every conversion."""

    def __missing__(self, key: str) -> int:
        return 0


_WIDE = re.compile(r"\)[-#0 +]*(?:[0-9]*\.)?[0-9]{4}")
_TEXT_FIELDS = ("asctime", "filename", "funcName", "levelname", "message", "module", "name", "pathname", "processName",
                "threadName", "tid")  # fmt: skip


def check_layout(value: Any) -> str:
    """A %-style format with named fields only."""
    text = check_filled(value)
    starts = re.findall(r"%(.?)", text.replace("%%", ""), re.DOTALL)
    # a bare %s would show every field there is; a width of many digits takes as much memory, for each record
    if not starts or any(each != "(" for each in starts) or _WIDE.search(text):
        raise ValueError(text)
    _ = text % _AnyRecord(dict.fromkeys(_TEXT_FIELDS, ""))
    return text
