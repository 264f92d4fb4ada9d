"""The name of what a request waits for, asked once for each place in the code.

A wait's place is its fingerprint: the code objects of the coroutines that wait for each other, from the request's
outermost one to the innermost, and the class of what that one awaits. The same place has the same name, so only a new
fingerprint looks at frames and modules. Of a code object the identity is compared, because comparing code itself reads
all of it; the cache holds the code objects, so no other object has an identity in it.

An exit span that is open has the name of its call, and is the cheapest answer. Five ends have no name of their place: a
task, whose name is its own; a greenlet, whose frames are not among the coroutines; an object that waits for tasks; a
wait for a connection, which is named after its pool; and one for a lock, whose name says who held it.
"""

from __future__ import annotations

from gc import get_referents
from types import CoroutineType
from typing import Any

from ..inspection import sqlalchemy_inside
from ..inspection.await_chain import Links, links_of
from ..inspection.lock_waits import is_held
from ..inspection.own_waits import is_own_wait
from ..record.limits import short
from .awaited import MAX_NAME, OTHER, quoted
from .stacks import name_of_end

_MOST = 1024
# the iterator of a future of C
_FUTURE = "FutureIter"
_names: dict[tuple[object, ...], tuple[str, object]] = {}


def name_of_chain(coroutine: object) -> str:
    """The place where a coroutine waits.

    :raises Exception: coroutines of a foreign class
    """
    # most chains are coroutines that end at a future
    codes: list[object] = []
    at: Any = coroutine
    while type(at) is CoroutineType:
        codes.append(at.cr_code)
        at = at.cr_await
    if type(at).__name__ != _FUTURE:
        links = links_of(coroutine)
        codes, at = [_code_of(each) for each in links.coroutines], links.awaited
    else:
        # what such an iterator refers to is its future
        at = next(iter(get_referents(at)), None)
    awaited: object = at
    key: tuple[object, ...] = (*map(id, codes), type(awaited))
    known = _names.get(key)
    if known is not None:
        return known[0]
    name = _name_of(links_of(coroutine))
    if not hasattr(awaited, "get_coro") and not any(map(_has_names, codes)):
        if len(_names) >= _MOST:
            _names.clear()
        _names[key] = name, (codes, type(awaited))
    return name


def name_of_place(coroutine: object) -> tuple[str, str] | None:
    """The same where all that stop at this place have one name, with the name as JSON has it; None elsewhere.

    :raises Exception: coroutines of a foreign class
    """
    codes = {_code_of(each) for each in links_of(coroutine).coroutines}
    if any(map(_has_names, codes)):
        return None
    name = name_of_chain(coroutine)
    return name, quoted(name)


def _name_of(links: Links) -> str:
    return short(name_of_end(links.awaited, links.frames()), MAX_NAME) or OTHER


def _has_names(code: object) -> bool:
    """Whether waits in this code have several names: by a greenlet's frames, a pool, a lock's holder."""
    return is_own_wait(code) or is_held(code) or getattr(code, "co_name", None) == sqlalchemy_inside.NAME


def _code_of(each: Any) -> Any:
    # of a coroutine, a generator, an asynchronous generator
    for name in ("cr_code", "gi_code", "ag_code"):
        code = getattr(each, name, None)
        if code is not None:
            return code
    return None
