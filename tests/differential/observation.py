"""A value as an application can see it, written down in types that JSON can hold.

Values that differ by nature from one process to the next are made the same: addresses in memory, ports, times, ids.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import io
import pickle
import pickletools
import re
import sys
import types
from collections.abc import Mapping
from itertools import groupby
from typing import Any

_DEPTH = 4
_MANY = 30
_LONG = 400
_DRAWN = ("salt", "connected_time")
_SCALARS = (bool, int, float, str, bytes, type(None), complex)
_FUNCTIONS = (
    types.FunctionType, types.MethodType, types.BuiltinFunctionType, types.MethodDescriptorType,
    types.WrapperDescriptorType, types.MethodWrapperType, types.ClassMethodDescriptorType,
)  # fmt: skip
ADDED = ("sw8", "sw8-correlation", "sw8-x", "traceparent", "tracestate")
"""Headers that the agent adds to a request, which is what it is for."""
_SAME = (
    (re.compile(rf"(?:, )?b?['\"](?:{'|'.join(ADDED)})['\"][:,] b?['\"][^'\"]*['\"]", re.IGNORECASE), ""),
    (re.compile(r"(Sec-WebSocket-Key'?: '?)[\w+/=]{24}"), r"\1KEY"),
    # how deep a traceback is
    (re.compile(r"(?:  +File \"[^\n]*\n(?:    [^\n]*\n)*)+"), "  FRAMES\n"),
    (re.compile(r"0x[0-9a-fA-F]{3,}"), "0x"),
    (re.compile(r"(127\.0\.0\.1|localhost|\[?::1\]?)(['\"]?[:,] ?)\d{2,5}"), r"\1\2PORT"),
    (re.compile(r"(port['\"]?[=: ]+)\d{2,5}", re.IGNORECASE), r"\1PORT"),
    (re.compile(r"\bns[01](?![0-9])"), "ns"),
    (re.compile(r"\bTask-\d+"), "Task-N"),
    (re.compile(r"\bfd=\d+"), "fd=N"),
    (re.compile(r"\bPID \d+"), "PID N"),
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "UUID"),
    (re.compile(r"\bctag\d+\.[0-9a-f]+"), "CTAG"),
    (re.compile(r"(process \\?'\w+\\?') \(\d+\)"), r"\1"),
    (re.compile(r"\d+\.\d{4,}(e-?\d+)?"), "FLOAT"),
    (re.compile(r"\b\d+\.\d+ ?m?s\b"), "DURATION"),
    (re.compile(r"'headers': \{[^}]*\}"), "'headers': {}"),
    # both sides have one broker, and a message with headers is longer
    (re.compile(r"\b(offset|size)=\d+"), r"\1=N"),
    (re.compile(r"\bmem_usage=\S+"), "mem_usage=N"),
    (re.compile(r"\bamq\.gen-[\w-]+"), "amq.gen-ID"),
    # how far it is, when it is looked at
    (re.compile(r"<_MultiThreadedRendezvous [^>]*>"), "<_MultiThreadedRendezvous>"),
    (re.compile(r"<Future at 0x state=\w+[^>]*>"), "<Future>"),
    # a subclass in Python has no module in this text
    (re.compile(r"cannot pickle '(?:\w+\.)+(\w+)'"), r"cannot pickle '\1'"),
    (re.compile(r"\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{12,64}\b"), "HEX"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d([.,]\d+)?"), "TIME"),
    (re.compile(r"\d\d/\w{3}/\d{4}:[\d:]{8}"), "DATE"),
    (re.compile(r"\w{3}, \d\d[ -]\w{3}[ -]\d{4} [\d:]{8} GMT"), "DATE"),
    (re.compile(r"\b\d{10,}\b"), "BIG"),
)


def same(text: str) -> str:
    """A text without what differs by nature."""
    for pattern, put in _SAME:
        text = pattern.sub(put, text)
    return text if len(text) <= _LONG else text[:_LONG] + f"... {len(text)} in all"


def observe(value: Any, depth: int = _DEPTH) -> Any:
    """A value, and what is in it."""
    kind = type(value)
    if kind in _SCALARS:
        return f"{kind.__name__} {same(repr(value))}"
    if depth == 0:
        return same(f"a {_name(kind)}")
    if kind in (list, tuple):
        return {
            kind.__name__: [observe(each, depth - 1) for each in _without_port(value)[:_MANY]],
            "length": len(value),
        }
    if kind in (set, frozenset):
        return {kind.__name__: sorted(str(observe(each, depth - 1)) for each in value)[:_MANY]}
    if kind is dict:
        pairs = [pair for pair in list(value.items())[:_MANY] if str(pair[0]).lower() not in ADDED]
        return {"dict": [[observe(key, depth - 1), observe(each, depth - 1)] for key, each in pairs]}
    if isinstance(value, BaseException):
        return _observe_error(value, depth)
    if isinstance(value, type):
        return {"class": same(repr(value)), "mro": _names(value), "pickle": _pickled(value)}
    if isinstance(value, _FUNCTIONS):
        return describe(value)
    return _observe_object(value, depth)


def describe(function: Any) -> Any:
    """A function as it can be seen without a call."""
    looks: dict[str, Any] = {"type": _name(type(function))}
    for name in ("__name__", "__qualname__", "__module__"):
        looks[name] = same(repr(getattr(function, name, "none")))
    looks["doc"] = hashlib.sha1(str(getattr(function, "__doc__", None)).encode("utf-8", "replace")).hexdigest()[:8]
    try:
        looks["signature"] = same(str(inspect.signature(function)))
    except (ValueError, TypeError) as error:
        looks["signature"] = same(repr(error))
    asks = (
        inspect.iscoroutinefunction, asyncio.iscoroutinefunction, inspect.isgeneratorfunction,
        inspect.isasyncgenfunction, inspect.isfunction, inspect.ismethod, inspect.isbuiltin, inspect.isclass, callable,
    )  # fmt: skip
    looks["is"] = [f"{ask.__module__}.{ask.__name__}" for ask in asks if ask(function)]
    looks["vars"] = sorted(
        name for name in getattr(function, "__dict__", {}) if name != "__wrapped__" and not name.startswith("_swagent")
    )
    looks["pickle"] = _pickled(function)
    return looks


def surface(module: str, number: int) -> Any:
    """One of all public functions of a module's public classes, and of its own."""
    found = list(_public(sys.modules[module]))
    name, function = found[number % len(found)]
    return [name, describe(function)]


def _public(module: types.ModuleType) -> Any:
    for name in sorted(name for name in dir(module) if not name.startswith("_")):
        value = getattr(module, name)
        if isinstance(value, type):
            yield name, value
            members = (each for each in sorted(dir(value)) if not each.startswith("_") or each in _DUNDERS)
            for each in members:
                member = inspect.getattr_static(value, each)
                if callable(member) or isinstance(member, (staticmethod, classmethod)):
                    yield f"{name}.{each}", getattr(value, each, member)
        elif isinstance(value, _FUNCTIONS):
            yield name, value


_DUNDERS = ("__init__", "__call__", "__enter__", "__exit__", "__aenter__", "__aexit__", "__iter__", "__next__",
            "__aiter__", "__anext__", "__reduce__", "__eq__", "__hash__", "__bool__", "__len__")  # fmt: skip


def _observe_error(error: BaseException, depth: int) -> Any:
    chain = {name: getattr(error, name) for name in ("__cause__", "__context__")}
    return {
        "error": _name(type(error)), "mro": _names(type(error)), "is its name's": _is_public(type(error)),
        "args": [observe(each, min(depth - 1, 2)) for each in error.args], "text": same(_text(error, str)),
        **{name: each and observe(each, depth - 1) for name, each in chain.items()},
        "suppressed": error.__suppress_context__, "notes": same(repr(getattr(error, "__notes__", None))),
        "vars": _vars(error), "pickle": _pickled(error),
        "inside": [observe(each, depth - 1) for each in getattr(error, "exceptions", ())],
    }  # fmt: skip


def _observe_object(value: Any, depth: int) -> Any:
    kind = type(value)
    return {
        "type": _name(kind), "mro": _names(kind), "is its name's": _is_public(kind), "repr": same(_text(value, repr)),
        "vars": _vars(value), "names": _digest(_dir(value)), "pickle": _pickled(value),
        **({"items": observe(dict(value), depth - 1)} if isinstance(value, Mapping) and len(value) < _MANY else {}),
    }  # fmt: skip


def _text(value: Any, how: Any) -> str:
    try:
        return str(how(value))
    except Exception as error:
        return f"{how.__name__} raises {type(error).__name__}: {error}"


def _vars(value: Any) -> Any:
    """The public attributes, those of plain types with their values."""
    try:
        kept = vars(value)
    except TypeError:
        return {}
    return {
        str(name): f"{type(each).__name__} {same(repr(each))}" if type(each) in _SCALARS else _name(type(each))
        for name, each in list(kept.items())
        if not str(name).startswith("_") and name not in _DRAWN
    }


def _dir(value: Any) -> list[str]:
    try:
        return [name for name in dir(value) if not name.startswith("_swagent") and name not in _OF_PYTHON]
    except Exception as error:
        return [repr(error)]


# A class in Python has them, and one in C has not: to trace the one, the agent puts the other in its place.
_OF_PYTHON = ("__abstractmethods__", "__dict__", "__module__", "__slotnames__", "__weakref__",
              "_abc_impl")  # fmt: skip


def _digest(names: list[str]) -> str:
    return hashlib.sha1(" ".join(names).encode()).hexdigest()[:8]


def _pickled(value: Any) -> Any:
    """Whether it can be pickled, what the pickle names of ours, and what becomes of it."""
    file = io.BytesIO()
    try:
        pickle.Pickler(file, 4).dump(value)
    except Exception:
        # which part is found first that cannot be pickled is up to the order in a dict
        return "cannot be pickled"
    strings = [
        str(argument)
        for _, argument, _ in pickletools.genops(file.getvalue())
        if isinstance(argument, str) and "swagent" in argument and not argument.startswith("_swagent")
    ]
    try:
        again = pickle.loads(file.getvalue())
    except Exception as error:
        return [strings, same(f"loads: {type(error).__name__}: {error}")]
    return [strings, _name(type(again))]


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _names(kind: type) -> list[str]:
    return [name for name, _ in groupby(_name(each) for each in kind.__mro__)]


def _is_public(kind: type) -> bool:
    """Whether a class is what its module has under its name."""
    found: Any = sys.modules.get(kind.__module__)
    for part in kind.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is kind


def _without_port(value: Any) -> list[Any]:
    """Of an address, which may be any."""
    items: list[Any] = list(value)
    if len(items) >= 2 and items[0] in ("127.0.0.1", "localhost", "::1") and type(items[1]) is int:
        items[1] = "PORT"
    return items
