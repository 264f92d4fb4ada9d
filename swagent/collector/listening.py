"""The end of listening, for each of the collector's servers."""

from __future__ import annotations

import asyncio

from anyio.lowlevel import cancel_shielded_checkpoint


async def accept_no_more(listening: asyncio.Server) -> None:
    """Let the loop make a connection of each one that it has accepted, before the listening socket is closed.

    Closing it would leave those in the midst of it half made and open, and their clients waiting. uvloop has nothing
    half made, and takes this well.
    """
    for each in listening.sockets:
        asyncio.get_running_loop().remove_reader(each.fileno())
    # in one turn of the loop the connection is made, in the next its protocol hears of it
    await cancel_shielded_checkpoint()
    await cancel_shielded_checkpoint()
