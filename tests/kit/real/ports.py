"""Loopback ports: finding free ones, seeing whether somebody listens."""

from __future__ import annotations

import random
import socket

HOST = "127.0.0.1"

# Below what kernels hand to outgoing connections: a client that redials a server which is down must not be
# given the server's own port, where it would meet itself (TCP's simultaneous open) and keep the server out.
_RANGE = range(20_000, 32_000)


def free_ports(count: int) -> tuple[int, ...]:
    """Ports that nobody listens on now, drawn at random: runs side by side seldom pick the same."""
    found: list[int] = []
    for port in random.sample(_RANGE, k=200):
        if _can_bind(port):
            found.append(port)
        if len(found) == count:
            return tuple(found)
    raise OSError(f"no {count} free ports among 200 tried between {_RANGE.start} and {_RANGE.stop}")


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex((HOST, port)) == 0


def _can_bind(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True
