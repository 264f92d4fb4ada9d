"""The headers of the context among those of a request of httpx.

For each response httpx looks for cookies. For that it copies all headers of the request, and goes through all of them
for each one, so three more cost as much as all else of a span. They say nothing of cookies, and are put aside
meanwhile. httpx2 looks only where the response sets cookies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from ....acceleration import native
from ...call import note_failure
from .http_call import CONTEXT_HEADERS, write_each

_FIELDS = {name: name.encode("ascii") for name in CONTEXT_HEADERS}
_NAMES = frozenset(_FIELDS.values())
_name_of = itemgetter(1)
_add_fields = native.add_header_fields if native is not None else None


def write_fields(headers: Any, written: Mapping[str, str]) -> None:
    """Set the headers of the context. By `headers[name] = value` httpx goes through all of them for each one, and by
    `name in headers` it settles on an encoding, so that the application could not set every text any more."""
    fields: list[tuple[bytes, bytes, bytes]] | None = getattr(headers, "_list", None)
    if _add_fields is not None and _add_fields(fields, written):
        return
    if type(fields) is not list:
        write_each(headers, written)  # a mapping that the application has put there
        return
    # by functions of C, since this is in each call
    if not _NAMES.isdisjoint(map(_name_of, fields)):
        is_ours = any(name == b"sw8" for _, name, _ in fields)
        gone = _NAMES if is_ours else {_FIELDS[name] for name in written}
        fields[:] = [each for each in fields if each[1] not in gone]
    for name, value in written.items():
        field = _FIELDS[name]
        fields.append((field, field, value.encode()))


def looking_for_cookies(extract: Callable[..., Any]) -> Callable[..., Any]:
    """For `Patches.wrap`: the look for cookies, with the headers of the context put aside meanwhile."""

    def extract_cookies(self: Any, response: Any) -> Any:
        fields: Any = None
        ours: list[Any] | None = None
        try:
            fields = response._request.headers._list  # noqa: SLF001
            ours = _put_aside(fields)
        except AttributeError:
            pass  # a response without a request, or headers that are another mapping
        except BaseException as error:  # noqa: BLE001, RUF100  (the response may be of the application's own class)
            note_failure(_put_aside, error)
        if not ours:
            return extract(self, response)
        try:
            return extract(self, response)
        finally:
            fields.extend(ours)

    if native is None:
        return extract_cookies
    look = native.look_for_cookies

    def extract_cookies_by_c(self: Any, response: Any) -> Any:
        return look(extract, extract_cookies, self, response)

    return extract_cookies_by_c


def _put_aside(fields: Any) -> list[Any] | None:
    """Take the headers of the context out of a request's, where they are the last ones, as they usually are.

    :returns: those that were taken out
    """
    if fields.__class__ is not list:
        return None
    at: int = len(fields)
    while at and fields[at - 1][1] in _NAMES:
        at -= 1
    ours: list[Any] = fields[at:]
    del fields[at:]
    return ours


if native is not None and not TYPE_CHECKING:
    _put_aside = native.take_header_fields
