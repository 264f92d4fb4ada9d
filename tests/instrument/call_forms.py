"""Every form in which a function can be called by its signature, and stubs that note what arrives.

A stub has a function's signature, and is a coroutine function, a generator function or a plain one as that is.
"""

from __future__ import annotations

import contextlib
import inspect
import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from inspect import Parameter, Signature
from typing import Any, NamedTuple

_BY_POSITION = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_BY_NAME = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
# Names that wrappers may give to things of their own; an application may name its arguments so, too.
_COLLIDING = (
    "self", "cls", "function", "call", "chosen", "span", "begin", "finish", "fail", "error", "args", "kwargs", "method",
    "patch", "pool", "thread", "request", "connection", "name", "original", "callback", "snapshot", "owner", "value",
)  # fmt: skip


class Form(NamedTuple):
    """The arguments of one call."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class Kind(NamedTuple):
    """The kind of a function, for a caller that inspects it."""

    is_coroutine_function: bool
    is_generator_function: bool
    is_async_generator_function: bool

    @classmethod
    def of(cls, function: Any) -> Kind:
        return cls(
            inspect.iscoroutinefunction(function),
            inspect.isgeneratorfunction(function),
            inspect.isasyncgenfunction(function),
        )


@dataclass
class Calls:
    """The calls that arrived at a stub: each parameter by its name."""

    arrived: list[dict[str, Any]] = field(default_factory=list)
    result: Any = None
    error: BaseException | None = None

    def note(self, arguments: dict[str, Any]) -> Any:
        self.arrived.append(arguments)
        if self.error is not None:
            raise self.error
        return self.result


def forms_of(signature: Signature, value: Callable[[str], Any], colliding: Iterable[str] = ()) -> Iterator[Form]:
    """All forms, each once.

    :param value: makes the argument for a parameter
    :param colliding: more names for what `**kwargs` take
    """
    parameters = list(signature.parameters.values())
    by_position = [each for each in parameters if each.kind in _BY_POSITION]
    names = {each.name for each in parameters if each.kind in _BY_NAME}
    required = [each for each in parameters if _is_required(each)]
    optional = [each for each in parameters if each.kind in _BY_NAME and not _is_required(each)]
    chosen: list[tuple[list[Parameter], list[Parameter]]] = []
    for count in range(len(by_position) + 1):
        first, others = by_position[:count], [each for each in parameters if each not in by_position[:count]]
        if any(each.kind is Parameter.POSITIONAL_ONLY and _is_required(each) for each in others):
            continue
        named = [each for each in others if each.kind in _BY_NAME]
        chosen.append((first, named))
        chosen.append((first, [each for each in named if each in required]))
        chosen += [(first, [*(each for each in named if each in required), each]) for each in optional if each in named]
    seen: set[Any] = set()
    for first, named in chosen:
        key = len(first), frozenset(each.name for each in named)
        if key not in seen:
            seen.add(key)
            yield Form(tuple(value(each.name) for each in first), {each.name: value(each.name) for each in named})
    all_by_position = tuple(value(each.name) for each in by_position)
    only_by_name = {each.name: value(each.name) for each in parameters if each.kind is Parameter.KEYWORD_ONLY}
    if any(each.kind is Parameter.VAR_POSITIONAL for each in parameters):
        yield Form((*all_by_position, value("more"), value("most")), only_by_name)
    if any(each.kind is Parameter.VAR_KEYWORD for each in parameters):
        more = [name for name in dict.fromkeys((*_COLLIDING, *colliding)) if name not in names]
        yield Form(all_by_position, {**only_by_name, **{name: value(name) for name in more}})


def _is_required(parameter: Parameter) -> bool:
    is_one = parameter.kind not in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    return is_one and parameter.default is Parameter.empty


def stub_of(original: Any, signature: Signature, calls: Calls) -> Any:
    """A function of this signature that notes its calls. What it is asked for comes in the original's way: at once, by
    a coroutine, by a coroutine that a plain function returns, as the items of a generator, or as a context."""
    kind = Kind.of(original)
    inner = Kind.of(inspect.unwrap(original))
    namespace: dict[str, Any] = {"note": calls.note}
    name = original.__name__ if original.__name__.isidentifier() else "stub"
    head = f"def {name}{_written(signature, namespace)}"
    noted = "note(dict(locals()))"
    if kind.is_coroutine_function:
        source = f"async {head}: return {noted}"
    elif kind.is_generator_function or kind.is_async_generator_function:
        source = f"{'async ' if kind.is_async_generator_function else ''}{head}: yield {noted}"
    elif inner.is_generator_function or inner.is_async_generator_function:
        source = f"{'async ' if inner.is_async_generator_function else ''}{head}: yield {noted}"
    elif inner.is_coroutine_function:
        namespace["in_coroutine"] = _in_coroutine
        source = f"{head}: return in_coroutine(note, dict(locals()))"
    else:
        source = f"{head}: return {noted}"
    exec(source, namespace)
    stub = namespace[name]
    if inner != kind and inner.is_generator_function:
        stub = contextlib.contextmanager(stub)
    elif inner != kind and inner.is_async_generator_function:
        stub = contextlib.asynccontextmanager(stub)
    for attribute in ("__qualname__", "__doc__", "__module__"):
        setattr(inspect.unwrap(stub), attribute, getattr(original, attribute, None) or name)
        setattr(stub, attribute, getattr(original, attribute, None) or name)
    return stub


async def _in_coroutine(note: Callable[[dict[str, Any]], Any], arguments: dict[str, Any]) -> Any:
    return note(arguments)


class _Named:
    """A default that is written as a name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


def _written(signature: Signature, namespace: dict[str, Any]) -> str:
    """A signature as it is written in a `def`."""
    parts: list[Parameter] = []
    for each in signature.parameters.values():
        default: Any = each.default
        if default is not Parameter.empty:
            namespace[f"default_{len(parts)}"] = default
            default = _Named(f"default_{len(parts)}")
        parts.append(each.replace(default=default, annotation=Parameter.empty))
    return str(Signature(parts))


def drive(function: Any, form: Form) -> Any:
    """Call a function, and see through what it gives: a coroutine is awaited, an iterator exhausted, a context entered.

    :returns: what came of that
    :raises BaseException: what it raises
    """
    found = function(*form.args, **form.kwargs)
    if inspect.iscoroutine(found):
        return _run(found)
    if inspect.isgenerator(found):
        [item] = found
        return item
    if inspect.isasyncgen(found):
        return _run(_first(found))
    if isinstance(found, contextlib.AbstractContextManager) and hasattr(found, "gen"):
        with found as entered:
            return entered
    if isinstance(found, contextlib.AbstractAsyncContextManager) and hasattr(found, "gen"):
        return _run(_entered(found))
    return found


async def _first(items: Any) -> Any:
    found = [item async for item in items]
    return found[0]


async def _entered(context: Any) -> Any:
    async with context as entered:
        return entered


def _run(coroutine: Any) -> Any:
    """Nothing here waits, so no loop is needed."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    finally:
        coroutine.close()
    raise AssertionError("the coroutine waits for something")


def same(first: dict[str, Any], second: dict[str, Any], rewritten: Iterable[str]) -> list[str]:
    """The names of the parameters at which something else arrived, and that were not rewritten on purpose."""
    rewritten = set(rewritten)
    found: list[str] = []
    for name in dict.fromkeys((*first, *second)):
        if name in rewritten:
            continue
        if name not in first or name not in second or not _is_same(first[name], second[name]):
            found.append(name)
    return found


def _is_same(first: Any, second: Any) -> bool:
    if type(first) is tuple and type(second) is tuple:
        return len(first) == len(second) and all(map(operator.is_, first, second))
    if type(first) is dict and type(second) is dict:
        return list(first) == list(second) and all(map(operator.is_, first.values(), second.values()))
    return first is second


def names_of(function: Any) -> list[str]:
    """The names that a wrapper gives to its own parameters."""
    try:
        return [*inspect.signature(function, follow_wrapped=False).parameters]
    except (TypeError, ValueError):
        return []
