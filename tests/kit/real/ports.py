"""Loopback ports: finding free ones, seeing whether a program listens."""

from __future__ import annotations

import fcntl
import os
import random
import socket
import tempfile
from pathlib import Path
from typing import IO

HOST = "127.0.0.1"

# Below what kernels hand to outgoing connections: a client that redials a server which is down must not be
# given the server's own port, where it would meet itself (TCP's simultaneous open) and keep the server out.
_RANGE = range(20_000, 32_000)
_LOCKS = Path(tempfile.gettempdir()) / f"swagent-test-ports-{os.getuid()}"

# the kernel lifts a lock when the last process ends that has the file open, however it ends
_held: dict[int, IO[bytes]] = {}


def free_ports(count: int) -> tuple[int, ...]:
    """Ports on which nothing listens, that no other run of tests gets while this process lives, drawn at random."""
    found: list[int] = []
    for port in random.sample(_RANGE, k=200):
        if _can_bind(port) and _reserve(port):
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


def _reserve(port: int) -> bool:
    """A server binds its port long after it was drawn, and lets go of it while it is down."""
    _LOCKS.mkdir(exist_ok=True)
    lock = (_LOCKS / str(port)).open("wb")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        return False
    _held[port] = lock
    return True
