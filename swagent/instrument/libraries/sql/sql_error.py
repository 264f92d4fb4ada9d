"""How a query's span ends: what an error of a database may say of itself.

Databases write values into their messages: the duplicate key, the text that is no number, the line of the statement.
None of that is shown unless statements are: then the first line is, and even then not the details below it. Of any
other message only the part before the first quotation or colon stays. The class and the code say what happened.
"""

from __future__ import annotations

import re
from typing import Any

from ....record.limits import MAX_MESSAGE, as_text, describe, short
from ....record.trace.outcome import Outcome, outcome_of
from ....record.trace.span import Span
from ...call import end_call
from ...settings import current

# An apostrophe within a word quotes nothing.
_VALUE = re.compile(r"(?<!\w)['\"`«]|:(?=\s|$)|(?<=\w)'(?!\w)")
_CODES = ("sqlstate", "pgcode", "sqlite_errorname")


def end_query(span: Span, error: BaseException | None = None) -> None:
    """End a query's span.

    :param error: what the call raised: a failure, a cancellation or a timeout
    """
    if error is not None:
        if outcome_of(error) is Outcome.FAILED:
            _note_failure(span, error)
        else:
            end_call(span, error)
            return
    span.stop()


def _note_failure(span: Span, error: BaseException) -> None:
    cause = _cause_of(error)
    fields = {"event": "error", **describe(error), "message": _message_of(cause)}
    code = _code_of(cause)
    if code:
        fields["error.code"] = code
    span.error()
    span.log(**fields)


def _cause_of(error: Any) -> Any:
    """The driver's own error. SQLAlchemy wraps it with statement and parameters, for some drivers twice."""
    inner = getattr(error, "orig", None)
    if not isinstance(inner, BaseException):
        return error
    cause = inner.__cause__
    return cause if cause is not None and as_text(inner).startswith("<class ") else inner


def _message_of(error: Any) -> str:
    lines = as_text(error if _number_of(error) is None else error.args[1]).strip().splitlines()
    line = lines[0] if lines else ""
    if not current().sql_statements:
        found = _VALUE.search(line)
        if found is not None:
            line = line[: found.start()].rstrip() + " …"
    return short(line, MAX_MESSAGE)


def _code_of(error: Any) -> str:
    number = _number_of(error)
    if number is not None:
        return str(number)
    found = (getattr(error, name, None) for name in _CODES)
    return next((each for each in found if isinstance(each, str)), "")


def _number_of(error: Any) -> int | None:
    """MySQL's own, which says more than the standard's code."""
    arguments: tuple[Any, ...] = error.args
    return arguments[0] if len(arguments) > 1 and isinstance(arguments[0], int) else None
