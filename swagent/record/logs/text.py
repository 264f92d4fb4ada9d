"""A `logging` record as text. Whatever the application put into the record, something readable comes out.

The record itself is left as it is: formatters of the application keep their caches in it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

from ..foreign import class_name, must_reach_application
from ..limits import MAX_TAGS, as_text
from .errors import describe_error
from .layout import time_text
from .mask import mask
from .origin import NO_TRACE
from .settings import LogSettings


class _Fields(dict[str, object]):
    """A record's fields for the layout. A field that this record does not have (another agent's, a later Python's) is
    shown as `N/A`."""

    def __missing__(self, key: str) -> str:
        return NO_TRACE


class LogText:
    """Turns records into the texts that the settings demand. Any thread. It holds no lock, since it calls the
    application's code."""

    def __init__(self, settings: LogSettings) -> None:
        self._settings = settings
        self._shows_time = "%(asctime)" in settings.layout

    def formatted(self, record: logging.LogRecord) -> str:
        """The record by the layout, with the exception and the stack below it."""
        message = _message(record)
        fields = _Fields(record.__dict__, message=message)
        if self._shows_time:
            fields["asctime"] = time_text(int(record.created), int(record.msecs))
        try:
            text = self._settings.layout % fields
        except BaseException as error:  # noqa: BLE001, RUF100  (a field that does not suit the layout, or foreign code)
            if must_reach_application(error):
                raise
            text = f"{message} …[layout not applied: {class_name(error)}]"
        below = [each for each in (self.exception(record), as_text(record.stack_info or "")) if each]
        return self.safe("\n".join([text, *below]) if below else text)

    def raw(self, record: logging.LogRecord) -> str:
        """The bare message, without its arguments filled in."""
        return self.safe(as_text(record.msg))

    def arguments(self, record: logging.LogRecord) -> Iterator[tuple[str, object]]:
        """The tags of a raw record: its arguments and its exception."""
        yield "exception", self.safe(self.exception(record))
        args: Any = record.args or ()
        values: tuple[object, ...] = args if isinstance(args, tuple) else (args,)  # pyright: ignore[reportUnknownVariableType]
        for number, value in enumerate(values[:MAX_TAGS]):
            yield f"argument.{number}", self.safe(as_text(value))
        if len(values) > MAX_TAGS:
            yield "truncated", "true"

    def exception(self, record: logging.LogRecord) -> str:
        """The record's exception; empty when it has none."""
        # a record from another process has its exception as text only
        return self.error(record.exc_info) or as_text(record.exc_text or "")

    def error(self, exc_info: Any) -> str:
        """An exception, or the triple of `sys.exc_info()`; empty for anything else."""
        if isinstance(exc_info, BaseException):
            return describe_error(exc_info, exc_info.__traceback__, self._settings.depth)
        match exc_info:
            case (_, BaseException() as error, trace):
                return describe_error(error, trace, self._settings.depth)
            case _:
                return ""

    def safe(self, text: str) -> str:
        """The text as it may be shown."""
        return mask(text) if self._settings.safe_mode else text


def _message(record: logging.LogRecord) -> str:
    try:
        return as_text(record.getMessage())
    except BaseException as error:  # noqa: BLE001, RUF100  (foreign code, or arguments that do not fit the message)
        if must_reach_application(error):
            raise
        return f"{as_text(record.msg)} …[arguments not filled in: {class_name(error)}]"
