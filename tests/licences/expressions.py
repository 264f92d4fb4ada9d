"""Licences of dependencies: read from their metadata, and judged against those that Apache-2.0 gets along with."""

from __future__ import annotations

import re
from importlib.metadata import PackageMetadata

# Category A of the Apache Software Foundation's list, whose code may be shipped with ours; MPL-2.0 is of its category
# B: an installation may bring it, and our distributions hold none of it.
COMPATIBLE = frozenset(
    {"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MIT-0", "MPL-2.0", "PSF-2.0", "Unlicense"}
)
# Metadata without an expression says it in words; a text that is not here is refused until it has been read.
_WORDS = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
_CLASSIFIER = "License :: OSI Approved :: "
_TOKEN = re.compile(r"[()]|[\w.+-]+")


def stated(metadata: PackageMetadata) -> str:
    """The licence of a distribution as an expression of SPDX where that is known, else as it says it itself."""
    if expression := _field(metadata, "License-Expression"):
        return expression
    classifiers = [
        each.removeprefix(_CLASSIFIER) for each in metadata.get_all("Classifier") or [] if _CLASSIFIER in each
    ]
    if classifiers:
        # which of several holds is not said, and then all of them have to be compatible
        return " AND ".join(_WORDS.get(each, each) for each in classifiers)
    text = _field(metadata, "License").strip()
    return _WORDS.get(text, text)


def _field(metadata: PackageMetadata, name: str) -> str:
    return next(iter(metadata.get_all(name) or []), "")


def is_compatible(expression: str) -> bool:
    """May a work under Apache-2.0 depend on one under this? A text that is no expression of SPDX is not compatible."""
    tokens = _TOKEN.findall(expression)
    if "".join(tokens) != re.sub(r"\s", "", expression):
        return False
    answer = _any(tokens)
    return answer is True and not tokens


def _any(tokens: list[str]) -> bool | None:
    """Read the operands of OR off the list; None where there is no expression."""
    answer = _all(tokens)
    while answer is not None and tokens[:1] == ["OR"]:
        del tokens[0]
        other = _all(tokens)
        answer = None if other is None else answer or other
    return answer


def _all(tokens: list[str]) -> bool | None:
    answer = _one(tokens)
    while answer is not None and tokens[:1] == ["AND"]:
        del tokens[0]
        other = _one(tokens)
        answer = None if other is None else answer and other
    return answer


def _one(tokens: list[str]) -> bool | None:
    if not tokens or tokens[0] in {")", "OR", "AND"}:
        return None
    token = tokens.pop(0)
    if token != "(":
        return token in COMPATIBLE
    answer = _any(tokens)
    if tokens[:1] != [")"]:
        return None
    del tokens[0]
    return answer
