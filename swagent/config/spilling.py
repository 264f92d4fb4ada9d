"""The setting of the spill to disk: a folder and a size."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Any

from .options import check_line

_UNITS = {"MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
_SETTING = re.compile(r"(.+?)\s*,\s*([0-9]{1,7})\s*([MGT]iB)")
LEAST = 8 << 20
ALLOWED = f"an absolute path and a size of at least {LEAST >> 20}MiB, as /var/spool/shop,256MiB; empty: nothing"


def parse_spill(text: str) -> tuple[str, int]:
    """The folder, and how many bytes it may have.

    :raises ValueError: when it is something else
    """
    match = _SETTING.fullmatch(text.strip())
    if match is None or not PurePath(match[1]).is_absolute():
        raise ValueError(text)
    size = int(match[2]) * _UNITS[match[3]]
    if size < LEAST:
        raise ValueError(text)
    return match[1], size


def check_spill(value: Any) -> str:
    """A setting that `parse_spill` reads, or an empty text."""
    text = check_line(value).strip()
    if text:
        parse_spill(text)
    return text
