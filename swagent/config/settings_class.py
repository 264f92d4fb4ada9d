"""The class of the settings: a dataclass of more than a hundred fields that takes no time to make.

`dataclasses` writes code for each field of each method, and compiles it: for these fields that was a sixth of all that
the agent imports. Here one loop serves all fields. To type checkers, `fields()` and `replace()` it is a dataclass.
"""

from __future__ import annotations

import inspect
from dataclasses import MISSING, dataclass, fields
from typing import TYPE_CHECKING, Any

__all__ = ["Settings", "settings"]

if TYPE_CHECKING:
    from dataclasses import dataclass as settings
else:

    def settings(**options):
        """As `dataclass`, for a class below `Settings`."""
        return dataclass(init=False, repr=False, eq=False, **options)


class _Signature:
    """The signature of a class of settings, made when it is asked for."""

    def __get__(self, _: object, owner: type) -> inspect.Signature:
        return inspect.Signature([_parameter(each) for each in fields(owner)])


def _parameter(field: Any) -> inspect.Parameter:
    default = ... if field.default is MISSING else field.default  # one that is made anew each time cannot be shown
    return inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=field.type)


class Settings:
    """The methods, for any number of fields."""

    __signature__ = _Signature()

    def __init__(self, **given: Any) -> None:
        this: Any = self
        for each in fields(this):
            if each.name in given:
                value = given.pop(each.name)
            else:
                value = each.default if each.default_factory is MISSING else each.default_factory()
            object.__setattr__(self, each.name, value)
        if given:
            unknown = next(iter(given))
            raise TypeError(f"{type(self).__qualname__}.__init__() got an unexpected keyword argument {unknown!r}")
        this.__post_init__()

    def __repr__(self) -> str:
        this: Any = self
        shown = (f"{each.name}={getattr(this, each.name)!r}" for each in fields(this) if each.repr)
        return f"{type(self).__qualname__}({', '.join(shown)})"

    def __eq__(self, other: object) -> bool:
        return _compared(self) == _compared(other) if other.__class__ is self.__class__ else NotImplemented

    # some of the values are dictionaries
    __hash__ = None  # type: ignore[assignment]


def _compared(given: Any) -> tuple[Any, ...]:
    return tuple(getattr(given, each.name) for each in fields(given) if each.compare)
