"""The end of a cancellation that a call does not follow."""

from __future__ import annotations

import asyncio

from anyio import CancelScope


def stop_cancelling(scope: CancelScope) -> None:
    """Let go of a call that swallows its cancellation. For asyncio.

    anyio cancels it again in each round of the loop, which would keep the loop busy for as long as the call lives.
    """
    handle: asyncio.Handle | None = getattr(scope, "_cancel_handle", None)
    if handle is not None:
        handle.cancel()
