"""Following the frameworks that a process has imported: their signals are connected, and single methods replaced.

Nothing is imported for that: a framework that serves requests is imported already.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ..agent_log import RateLimitedLog

_limited = RateLimitedLog()
_followers: set[Any] = set()
# What ends the following, by what it is of: a signal is connected again and again, and once for all.
_endings: dict[object, Callable[[], object]] = {}


def follow_imported(frameworks: Mapping[str, Callable[[Any], None]], subject: str) -> None:
    """Follow the imported ones of some frameworks. May be called again. Never raises.

    :param frameworks: by the name of a module, the function that follows it
    :param subject: of a framework, for the message where it cannot be followed
    """
    for module, follow in frameworks.items():
        found: Any = sys.modules.get(module)
        try:
            if found is not None:
                follow(found)
        except Exception as error:  # noqa: BLE001, RUF100  (another version, or one that is being imported)
            _limited.warn(f"{subject} {module}", "the %s of %s cannot be followed: %r", subject, module, error)


def replace_method(owner: Any, name: str, make: Callable[[Any], Any]) -> None:
    """Replace a method of a framework, unless this has been done.

    :param make: gets the method, and gives the one in its place, which calls it
    """
    method = getattr(owner, name)
    if method in _followers:
        return
    own: Any = owner.__dict__.get(name)
    follower = make(method)
    _followers.add(follower)
    setattr(owner, name, follower)
    at_end((owner, name, follower), partial(_put_back, owner, name, own, follower))


def at_end(key: object, end: Callable[[], object]) -> None:
    """Have a function called at the end of all following.

    :param key: of what it ends; a second function of the same key takes the place of the first
    """
    _endings[key] = end


def follow_no_more() -> None:
    """Leave the frameworks as they were. A method that others have replaced since stays. Never raises."""
    while _endings:
        _, end = _endings.popitem()
        try:
            end()
        except Exception as error:  # noqa: BLE001, RUF100  (a framework's objects)
            _limited.warn("end", "a framework cannot be left as it was: %r", error)


def _put_back(owner: Any, name: str, own: Any, follower: Any) -> None:
    if owner.__dict__.get(name) is follower:
        _followers.discard(follower)
        if own is None:
            delattr(owner, name)
        else:
            setattr(owner, name, own)
