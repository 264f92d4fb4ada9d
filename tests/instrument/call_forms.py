"""The forms in which a function can be called by its signature, and stubs that note what arrives.

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
    """Calls with all arguments by position, all by name, and only those that are needed; and with more than there are
    parameters, where that is allowed.

    :param value: makes the argument for a parameter
    :param colliding: more names for what `**kwargs` take
    """
    parameters = list(signature.parameters.values())
    kinds = {each.kind for each in parameters}
    names = {each.name for each in parameters if each.kind in _BY_NAME}

    def form(by_position: Iterable[Parameter], by_name: Iterable[Parameter]) -> Form:
        return Form(tuple(value(each.name) for each in by_position), {each.name: value(each.name) for each in by_name})

    first = [each for each in parameters if each.kind in _BY_POSITION]
    only_by_name = [each for each in parameters if each.kind is Parameter.KEYWORD_ONLY]
    only_by_position = [each for each in first if each.kind is Parameter.POSITIONAL_ONLY]
    all_by_position = form(first, only_by_name)
    yield all_by_position
    yield form(only_by_position, [each for each in parameters if each.kind in _BY_NAME])
    yield form(filter(_is_required, first), filter(_is_required, only_by_name))
    yield form(only_by_position, [each for each in parameters if each.kind in _BY_NAME and _is_required(each)])
    if Parameter.VAR_POSITIONAL in kinds:
        yield Form((*all_by_position.args, value("more"), value("most")), all_by_position.kwargs)
    if Parameter.VAR_KEYWORD in kinds:
        more = {name: value(name) for name in dict.fromkeys((*_COLLIDING, *colliding)) if name not in names}
        yield Form(all_by_position.args, {**all_by_position.kwargs, **more})


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


def same(first: dict[str, Any], second: dict[str, Any]) -> list[str]:
    """The names of the parameters at which something else arrived."""
    names = dict.fromkeys((*first, *second))
    return [name for name in names if not (name in first and name in second and _is_same(first[name], second[name]))]


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
