"""The spans of GraphQL's operations, and of documents that have errors of syntax or validation: none is executed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....record.limits import as_text, short
from ....record.suppression import suppress_instrumentation
from ....record.trace.context import active_span, current
from ....record.trace.model import Component, SpanKind
from ....record.trace.span import Span
from ....record.trace.spans import local_span
from ....record.trace.tracer import running
from ...arguments import Args, Kwargs, argument
from ...call import safely, settle
from ...patches import Patches, home_of

_TYPE, _NAME = "graphql.operation.type", "graphql.operation.name"
_SEEN = "_swagent_seen"


def begin_operation(document: Any, name: Any) -> Span | None:
    """Begin the span of an operation. None: nothing is recorded here, or it is a subscription, which has no end."""
    if not _is_recorded():
        return None
    operation = _find_operation(document, name)
    if operation is None or operation.operation.value == "subscription":
        return None
    named = f"/{as_text(operation.name.value)}" if operation.name is not None else ""
    return _begin(f"GraphQL/{as_text(operation.operation.value)}{named}", operation)


def log_error(span: Span, error: Any) -> None:
    """Have a span fail without the message of an error: it quotes what the client has sent."""
    span.error()
    span.log(**{"event": "error", "error.kind": type(error).__name__})


def record_syntax(parser: Any, patches: Patches) -> None:
    """Record documents that cannot be parsed."""

    def around(call: Callable[..., Any]) -> Callable[..., Any]:
        def parsed(*args: Any, **kwargs: Any) -> Any:
            try:
                return call(*args, **kwargs)
            except Exception as error:
                safely(_fail, "GraphQL/parse", None, error)
                raise

        return parsed

    patches.wrap(parser, "parse_document", around)


def record_validation(context: Any, patches: Patches) -> None:
    """Record documents that are not valid, once, by the first of their errors: each is reported to a context, and
    however `validate` was imported, it is by this."""

    def around(call: Callable[..., Any]) -> Callable[..., Any]:
        def reported(*args: Any, **kwargs: Any) -> Any:
            # a schema's own document has a context of another class, with the same method
            if args and isinstance(args[0], context):
                safely(_note_invalid, args, kwargs)
            return call(*args, **kwargs)

        return reported

    patches.wrap(home_of(context, "report_error"), "report_error", around)


def _note_invalid(args: Args, kwargs: Kwargs) -> None:
    context = args[0]
    if not hasattr(context, _SEEN):
        setattr(context, _SEEN, True)
        _fail("GraphQL/validate", context.document, argument(args, kwargs, 1, "error"))


def _fail(name: str, document: Any, error: Any) -> None:
    if _is_recorded():
        operation = _find_operation(document, None) if document is not None else None
        settle(_end, _begin(name, operation), error)


def _end(span: Span, error: Any) -> None:
    log_error(span, error)
    span.stop()


def _is_recorded() -> bool:
    return running() is not None and not suppress_instrumentation.get() and active_span(current.get()) is not None


def _find_operation(document: Any, name: Any) -> Any:
    """The operation that is executed. None: the document has several, and none of this name."""
    operations = [each for each in document.definitions if each.kind == "operation_definition"]
    if name is None:
        return operations[0] if len(operations) == 1 else None
    return next((each for each in operations if each.name is not None and each.name.value == name), None)


def _begin(name: str, operation: Any) -> Span:
    tags: list[tuple[str, str]] = []
    if operation is not None:
        tags.append((_TYPE, as_text(operation.operation.value)))
        if operation.name is not None:
            tags.append((_NAME, short(as_text(operation.name.value))))
    span = local_span(name, component=Component.PYTHON).start()
    _tag(span, tags)
    root = span.segment.root if span.segment is not None else None
    # the first one counts, where a request has several
    if isinstance(root, Span) and root.kind is SpanKind.ENTRY and all(key != _TYPE for key, _ in root.tags):
        _tag(root, tags)
    return span


def _tag(span: Span, tags: list[tuple[str, str]]) -> None:
    for key, value in tags:
        span.tag(key, value)
