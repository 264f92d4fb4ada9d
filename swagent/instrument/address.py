"""The address that a call goes to, as spans have it."""

from __future__ import annotations

from ..record.bounded_cache import remembered
from ..record.limits import address_of


@remembered(1024)
def place_of(host: str, port: int | None) -> str:
    """`host:port`; of a socket in the file system, which has no port, `unix:path`. Remembered: most services call few
    places."""
    shown = f"[{host}]" if ":" in host and not host.startswith("[") else host
    return address_of(f"unix:{host}" if port is None else f"{shown}:{port}")
