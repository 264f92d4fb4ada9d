"""The safe mode: credentials in texts become `***`. The value of a field that is named after a credential becomes `***`
in any mode.

It is a safety net for what should not have been logged, so it rather masks too much. It recognises a credential by the
words around it. A password that is logged as a bare word is not found.
"""

from __future__ import annotations

import re

HIDDEN = "***"
# The text before the last @ of a URL, whether it is a well-formed `user:password` or not. It is matched in one run, so
# that the time grows with the text's length and not with its square.
_URL = re.compile(r"""://([^\s"'<>]*)""")
_VALUE = r"""(?:"[^"\n]*"|'[^'\n]*'|(?:(?:bearer|basic|digest|token)\s+)?["']?[^\s&;,"'<>(){}\[\]]+)"""
_NAME = (
    r"(passw(?:or)?d|passphrase|pwd|token|secret|credentials?|signature|authorization|api[_-]?key|access[_-]?key"
    r"|private[_-]?key|session[_-]?id|cookie)"
)
_SECRET = re.compile(_NAME, re.IGNORECASE)
_PAIR = re.compile(rf"""{_NAME}(["']?\s*[=:]\s*){_VALUE}""", re.IGNORECASE)


def mask(text: str) -> str:
    """The text without the credentials in its URLs and without the values of `password=`, `token=` and their like."""
    if "://" in text and "@" in text:
        text = _URL.sub(_without_userinfo, text)
    if "=" in text or ":" in text:
        text = _PAIR.sub(rf"\1\2{HIDDEN}", text)
    return text


def hide_field(name: str, text: str) -> str:
    """The value of a field as it is, or `***` if its name says that it is a credential."""
    return HIDDEN if _SECRET.search(name) else text


def mask_field(name: str, text: str) -> str:
    """The same, and credentials inside the value are masked as well."""
    return hide_field(name, mask(text))


def _without_userinfo(match: re.Match[str]) -> str:
    before, at, rest = match[1].rpartition("@")
    return f"://{HIDDEN}@{rest}" if at and before else match[0]
