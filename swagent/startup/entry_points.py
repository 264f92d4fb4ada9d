"""Whether any installed distribution has entry points of a group, found without `importlib.metadata`, which takes as
long to import as all that an idle process imports of ours."""

from __future__ import annotations

import os
import sys

_METADATA = (".dist-info", ".egg-info")


def may_exist(*headings: bytes, leaving_out: str = "") -> bool:
    """Whether there may be any.

    :param headings: of the groups, as the files have them: `[swagent.transports]`
    :param leaving_out: a distribution that does not count, as its folder's name begins
    """
    return any(_has_any(folder, headings, leaving_out) for folder in dict.fromkeys(sys.path))


def _has_any(folder: str, headings: tuple[bytes, ...], leaving_out: str) -> bool:
    try:
        names = os.listdir(folder or ".")
    except NotADirectoryError:
        # an archive, which only importlib.metadata can read
        return True
    except OSError:
        return False
    return any(
        _has_heading(os.path.join(folder, name, "entry_points.txt"), headings)
        for name in names
        if name.endswith(_METADATA) and not (leaving_out and name.startswith(leaving_out))
    )


def _has_heading(path: str, headings: tuple[bytes, ...]) -> bool:
    try:
        with open(path, "rb", 0) as file:
            text = file.read()
    except OSError:
        return False
    return any(heading in text for heading in headings)
