"""Where a failed call is counted: where its failure began."""

from __future__ import annotations

_FAILED = """iif({call}.is_error AND EXISTS (
    SELECT 1 FROM calls x CROSS JOIN segments s ON s.id = x.owner
    JOIN calls e ON e.parent_segment = s.segment AND e.parent_span = x.span AND e.is_error
    WHERE x.owner = {call}.owner AND x.kind = 'exit' AND x.is_error
), 2, {call}.is_error)"""


def failed_of(call: str) -> str:
    """The expression for how an entry call ended: 1 where it failed, 2 where it failed because one that it made did,
    which another service answered: that failure counts there.

    :param call: the name that the table of calls has in the query
    """
    return _FAILED.format(call=call)
