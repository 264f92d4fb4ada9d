"""Functions whose calls are spans."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

from .context import get_context
from .model import Component, Layer
from .snapshot import Snapshot
from .span import Span
from .tags import Tag


class _Operation:
    """How the span of a call looks."""

    def __init__(self, op: str, layer: Layer, component: Component, tags: Iterable[Tag] | None) -> None:
        self._op = op
        self._layer = layer
        self._component = component
        self._tags = tuple(tags or ())

    def new_span(self) -> Span:
        span = get_context().new_local_span(op=self._op)
        span.layer, span.component = self._layer, self._component
        for tag in self._tags:
            span.tag(tag)
        return span


def trace(
    op: str | None = None,
    layer: Layer = Layer.Unknown,
    component: Component = Component.Unknown,
    tags: Iterable[Tag] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Run each call of a function or coroutine function in a local span. `@trace(op="price")`

    :param op: the function's own name when left out
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        operation = _Operation(op or function.__name__, layer, component, tags)
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def call(*args: object, **kwargs: object) -> object:
                with operation.new_span():
                    return await function(*args, **kwargs)

            return call

        @functools.wraps(function)
        def call_plain(*args: object, **kwargs: object) -> object:
            with operation.new_span():
                return function(*args, **kwargs)

        return call_plain

    return decorate


class Runnable:
    """A function for another thread. Called, it continues the trace in which it was decorated."""

    def __init__(self, function: Callable[..., Any], operation: _Operation) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._operation = operation
        self._snapshot = get_context().capture()

    def __call__(self, *args: object, **kwargs: object) -> object:
        return self._run(self._snapshot, *args, **kwargs)

    def continue_tracing(self) -> Callable[..., object]:
        """The same function, which continues the trace that is active now."""
        return functools.partial(self._run, get_context().capture())

    def _run(self, snapshot: Snapshot | None, /, *args: object, **kwargs: object) -> object:
        with self._operation.new_span() as span:
            span.context.continued(snapshot)
            return self._function(*args, **kwargs)


def runnable(
    op: str | None = None,
    layer: Layer = Layer.Unknown,
    component: Component = Component.Unknown,
    tags: Iterable[Tag] | None = None,
) -> Callable[[Callable[..., Any]], Runnable]:
    """Let a function that runs in another thread continue a trace. `Thread(target=work.continue_tracing())`

    :param op: `Thread/` and the function's own name when left out
    """

    def decorate(function: Callable[..., Any]) -> Runnable:
        return Runnable(function, _Operation(op or f"Thread/{function.__name__}", layer, component, tags))

    return decorate
