"""The error of a budget that was exceeded."""

from __future__ import annotations


class BudgetError(AssertionError):
    """A budget was exceeded; the message shows the spans."""
