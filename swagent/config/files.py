"""Settings from a file of the project: `swagent.toml`, or the table `[tool.swagent]` of `pyproject.toml`.

The keys are the names that the settings have in code. The file is looked for in the folder that the process runs in;
where there are both, `swagent.toml` is read. The environment wins over it.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import ConfigError
from .names import question
from .options import Option

_OWN, _SHARED = "swagent.toml", "pyproject.toml"
_TABLE = b"tool.swagent"


class FileSettings(NamedTuple):
    """The settings that one file holds."""

    file: str
    """Its name, as errors and reports show it; empty: there is none."""
    values: Mapping[str, Any]
    """Checked, by the names of the settings."""


NONE = FileSettings("", {})


def read_files(folder: Path, options: Mapping[str, Option]) -> FileSettings:
    """The settings of the project's file.

    :raises ConfigError: when it cannot be read, or a key or a value in it is wrong
    """
    own, shared = folder / _OWN, folder / _SHARED
    if (data := _bytes_of(own)) is not None:
        return FileSettings(_OWN, _checked(_OWN, _parse(_OWN, data), options))
    data = _bytes_of(shared)
    # most projects have one, and few of them a word for us
    if data is None or _TABLE not in data:
        return NONE
    table: Any = _parse(_SHARED, data).get("tool", {}).get("swagent")
    if table is None:
        return NONE
    name = f"{_SHARED} [tool.swagent]"
    if not isinstance(table, dict):
        raise ConfigError(name, table, "a table")
    return FileSettings(name, _checked(name, table, options))  # pyright: ignore[reportUnknownArgumentType]


def _bytes_of(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ConfigError(path.name, error.strerror, "a file that can be read, or none") from None


def _parse(name: str, data: bytes) -> dict[str, Any]:
    # a part of Python from 3.11 on
    toml: Any = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        parsed: dict[str, Any] = toml.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ConfigError(name, str(error), "a file in the format of TOML") from None
    return parsed


def _checked(name: str, table: Mapping[str, Any], options: Mapping[str, Option]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in table.items():
        field = key.replace("-", "_")
        option = options.get(field)
        if option is None:
            # its value may be a secret under a misspelt name
            raise ConfigError(f"{name}: {key}", "***", f"one of {', '.join(options)}{question(field, options)}")
        try:
            values[field] = option.check(value)
        except (ValueError, TypeError):
            raise ConfigError(f"{name}: {key}", option.shown(value), option.allowed) from None
    return values
