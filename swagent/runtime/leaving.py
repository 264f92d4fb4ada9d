"""Leaving a call behind that does not end when it is cancelled."""

from __future__ import annotations

import asyncio

from anyio import CancelScope


def cancel_no_more(scope: CancelScope) -> None:
    """Let go of a call that swallows its cancellation. For asyncio.

    anyio cancels it again in each round of the loop, which would keep the loop busy for as long as the call lives.
    """
    handle: asyncio.Handle | None = getattr(scope, "_cancel_handle", None)
    if handle is not None:
        handle.cancel()
