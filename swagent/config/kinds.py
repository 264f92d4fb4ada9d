"""The kinds of options that the table in `config/__init__.py` is made of. Each makes a dataclass field that carries its
line."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from typing import Any

from .options import (
    BOOLEANS,
    Option,
    Secret,
    between,
    check_bool,
    check_filled,
    check_list,
    check_text,
    one_of,
    parse_address,
    parse_bool,
    parse_list,
)


def option(
    default: Any,
    env: str,
    help: str,  # noqa: A002  (the word every option table uses)
    allowed: str,
    check: Callable[[Any], Any],
    parse: Callable[[str], Any] = str,
    *,
    secret: bool = False,
    is_address: bool = False,
) -> Any:
    metadata = {"option": Option(env, help, allowed, parse, check, secret, is_address)}
    if callable(default):
        return dataclasses.field(default_factory=default, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def number(default: float, env: str, help: str, low: float, high: float) -> Any:  # noqa: A002
    kind: type[int | float] = int if isinstance(default, int) else float
    allowed = f"{'an integer' if kind is int else 'a number'} from {low:g} to {high:g}"
    return option(default, env, help, allowed, between(kind, low, high), kind)


def text(default: str, env: str, help: str) -> Any:  # noqa: A002
    return option(default, env, help, "any text", check_text)


def choice(default: str, env: str, help: str, *choices: str) -> Any:  # noqa: A002
    return option(default, env, help, ", ".join(choices), one_of(*choices))


def flag(default: bool, env: str, help: str) -> Any:  # noqa: A002
    return option(default, env, help, BOOLEANS, check_bool, parse_bool)


def unset_flag(env: str, help: str) -> Any:  # noqa: A002
    """Three states: wanted, not wanted, and None, which leaves it to the transport."""
    return option(
        None,
        env,
        help,
        f"{BOOLEANS}; unset: where the transport carries it",
        lambda value: value if value is None else check_bool(value),
        parse_bool,
    )


def unset_number(env: str, help: str, low: int, high: int, when_unset: str) -> Any:  # noqa: A002
    """An integer, or None, whose meaning depends on what runs."""
    check = between(int, low, high)
    return option(
        None,
        env,
        help,
        f"an integer from {low:g} to {high:g}; unset: {when_unset}",
        lambda value: value if value is None else check(value),
        int,
    )


def list_of(default: str, env: str, help: str, *, is_address: bool = False) -> Any:  # noqa: A002
    allowed = "comma-separated texts"
    return option(parse_list(default), env, help, allowed, check_list, parse_list, is_address=is_address)


def kafka_name(default: str, env: str, help: str) -> Any:  # noqa: A002
    allowed = f"{'1' if default else '0'} to 200 of: letters, digits, dots, underscores, hyphens"
    return option(default, env, help, allowed, _check_topic if default else _check_kafka_name)


def _check_kafka_name(value: Any) -> str:
    """A part of a topic's name. The whole name may have 249 characters."""
    if not re.fullmatch(r"[A-Za-z0-9._-]{0,200}", check_text(value).strip()):
        raise ValueError(value)
    return check_text(value).strip()


def _check_topic(value: Any) -> str:
    return _check_kafka_name(check_filled(value))


def check_servers(value: Any) -> tuple[str, ...]:
    """Addresses without a scheme; 9092 is the port where none is given."""
    texts = [text if re.search(r":[0-9]+$", text) else f"{text}:9092" for text in check_list(value)]
    if not texts or any("://" in text for text in texts):
        raise ValueError(value)
    return tuple(str(parse_address(text)) for text in texts)


def check_password(value: Any) -> Secret:
    """NUL separates the parts of a SASL message."""
    text = value.reveal() if isinstance(value, Secret) else check_text(value)
    if "\0" in text:
        raise ValueError("***")
    return Secret(text)
