"""graphql-core, below strawberry and graphene: the execution of an operation, within the request that asked for it.

An answer with errors has the status 200. So the operation has a local span, which fails where its result has errors,
and the request has the operation's type and name. A document with errors of syntax or validation is not executed: it
has a span of its own. Nothing else of the document is recorded, no variable, and no message of an error that no
resolver has raised: such a message quotes what the client has sent.

Before version 3.3 `execute` does the work. Since then it calls the function that may also answer in parts, and finds
it in its module at each call.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from types import CoroutineType
from typing import Any

from ....record.trace.context import current, switch
from ....record.trace.span import Span
from ...arguments import Args, Kwargs, argument
from ...call import end_call, safely, settle
from ...instrumentation import Instrumentation
from ...patches import Patches
from ...wrapping import Within
from .graphql_operations import begin_operation, log_error, record_syntax, record_validation

_EXECUTE = ("experimental_execute_incrementally", "execute")
_PARSER, _CONTEXT = "graphql.language.parser", "graphql.validation.validation_context"
# They may have taken the function out of its module before the hook is called.
_TAKERS = ("graphql", "strawberry", "graphene")
# Of an operation: each may have one in every item of a list.
_MAX_ERRORS = 10


def _hook(module: Any, patches: Patches) -> None:
    if module.__name__ == _PARSER:
        record_syntax(module.Parser, patches)
    elif module.__name__ == _CONTEXT:
        record_validation(module.ValidationContext, patches)
    else:
        _record_execution(module, patches)


def _record_execution(module: Any, patches: Patches) -> None:
    name = next((each for each in _EXECUTE if hasattr(module, each)), _EXECUTE[-1])
    original: Any = getattr(module, name, None)
    replacement = _around_execution(original)

    def around(call: Callable[..., Any]) -> Callable[..., Any]:
        # one function wherever it is found, as it was before
        return replacement if call is original else _around_execution(call)

    patches.wrap(module, name, around)
    for path, taker in list(sys.modules.items()):
        is_known = path.partition(".")[0] in _TAKERS and taker is not module
        if is_known and getattr(taker, "__dict__", {}).get(name) is original:
            patches.wrap(taker, name, around)


def _around_execution(call: Callable[..., Any]) -> Callable[..., Any]:
    def executed(*args: Any, **kwargs: Any) -> Any:
        span = safely(_begin, args, kwargs)
        if span is None:
            return call(*args, **kwargs)
        try:
            result = call(*args, **kwargs)
        except BaseException as error:
            settle(end_call, span, error)
            raise
        if not inspect.isawaitable(result):
            settle(_finish, span, result)
            return result
        settle(Span.step_aside, span)
        coroutine: Any = _awaited(_Execution(result, span))
        if type(result) is CoroutineType:
            coroutine.__name__, coroutine.__qualname__ = result.__name__, result.__qualname__
        return coroutine

    return executed


class _Execution(Within):
    """What is still to be awaited of an operation. If it never is, its span ends here."""

    __slots__ = ("span",)

    def __init__(self, awaitable: Any, span: Span) -> None:
        super().__init__(awaitable)
        self.span = span

    def __del__(self) -> None:
        super().__del__()
        self.span.stop()


async def _awaited(execution: _Execution) -> Any:
    span = execution.span
    safely(_resume, span)
    try:
        result = await execution.awaitable
    except BaseException as error:
        settle(end_call, span, error)
        raise
    settle(_finish, span, result)
    return result


def _resume(span: Span) -> None:
    """Be the active span again, in whatever context the resolvers run."""
    if not span.ended:
        span.previous = current.get()
        switch(current, span)


def _begin(args: Args, kwargs: Kwargs) -> Span | None:
    return begin_operation(argument(args, kwargs, 1, "document"), argument(args, kwargs, 5, "operation_name"))


def _finish(span: Span, result: Any) -> None:
    # an answer in parts has its first one apart
    errors = getattr(getattr(result, "initial_result", result), "errors", None) or ()
    for error in errors[:_MAX_ERRORS]:
        # without a path no resolver has raised it, and its message quotes the client
        raised = getattr(error, "original_error", None) if getattr(error, "path", None) is not None else None
        if raised is None:
            log_error(span, error)
        else:
            span.error(raised)
    span.stop()


INSTRUMENTATION = Instrumentation(
    name="graphql",
    module="graphql.execution.execute",
    also=(_PARSER, _CONTEXT),
    distribution="graphql-core",
    hook=_hook,
    versions=">=3.2,<3.4",
)
