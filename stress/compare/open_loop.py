"""The generator of load at a fixed rate: `python -m stress.compare.open_loop PORT PATH RATE SECONDS`.

Prints what became of the requests, as one line of JSON. One thread over sockets that stay open; it sleeps to the
microsecond, which event loops do not.
"""

from __future__ import annotations

import argparse
import json
import re
import select
import socket
import time
from collections import deque
from dataclasses import asdict, replace

from .arrivals import Arrivals, FixedRate

CONNECTIONS = 64
# Once the schedule is over: what is still unanswered then counts as waiting.
GRACE = 1.0
_LENGTH = re.compile(rb"\r\ncontent-length:\s*(\d+)", re.IGNORECASE)


class BrokenAnswerError(Exception):
    """The server hung up, or answered with another status than 200."""


class Connections:
    """Keep-alive connections, of which each has at most one request under way."""

    def __init__(self, port: int, path: str, count: int = CONNECTIONS) -> None:
        self._request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
        self._epoll = select.epoll()
        self._sockets: dict[int, socket.socket] = {}
        self._partial: dict[int, bytes] = {}
        for _ in range(count):
            each = socket.create_connection(("127.0.0.1", port))
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._sockets[each.fileno()] = each
            self._partial[each.fileno()] = b""
            self._epoll.register(each, select.EPOLLIN)
        began = time.monotonic()
        self.free: deque[tuple[int, float]] = deque((number, began) for number in self._sockets)

    def send(self, number: int) -> None:
        """A request."""
        self._sockets[number].sendall(self._request)

    def wait_answers(self, timeout: float) -> list[int]:
        """The connections whose answer is complete, once there is one or the time in seconds is over."""
        # epoll itself would wait in whole milliseconds
        select.select([self._epoll], [], [], timeout)
        return [number for number, _ in self._epoll.poll(0) if self._is_answered(number)]

    def _is_answered(self, number: int) -> bool:
        data = self._sockets[number].recv(65_536)
        if not data:
            raise BrokenAnswerError("the server hung up")
        answer = self._partial[number] + data
        head = answer.find(b"\r\n\r\n")
        length = _LENGTH.search(answer, 0, head + 2) if head >= 0 else None
        is_whole = length is not None and len(answer) >= head + 4 + int(length[1])
        if is_whole and not answer.startswith(b"HTTP/1.1 200"):
            raise BrokenAnswerError(answer[:200].decode(errors="replace"))
        self._partial[number] = b"" if is_whole else answer
        return is_whole

    def close(self) -> None:
        """All of them."""
        for each in self._sockets.values():
            each.close()
        self._epoll.close()


def drive(connections: Connections, rate: float, seconds: float) -> FixedRate:
    """The whole schedule.

    :param rate: requests a second
    """
    start = time.monotonic()
    used = time.process_time()
    end = start + seconds + GRACE
    arrivals = Arrivals(start, rate, seconds)
    while not arrivals.is_over and (now := time.monotonic()) < end:
        due = arrivals.next_due
        while due is not None and due <= now and connections.free:
            number, free_since = connections.free.popleft()
            arrivals.send(number, free_since, now)
            connections.send(number)
            due = arrivals.next_due
        until = due if due is not None and connections.free else end
        for number in connections.wait_answers(max(0.0, until - time.monotonic())):
            now = time.monotonic()
            arrivals.answer(number, now)
            connections.free.append((number, now))
    finish = time.monotonic()
    return replace(arrivals.summarise(finish), generator_busy=(time.process_time() - used) / (finish - start))


def main() -> None:
    """Parse the command line, and drive."""
    parser = argparse.ArgumentParser(prog="python -m stress.compare.open_loop", description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("path")
    parser.add_argument("rate", type=float)
    parser.add_argument("seconds", type=float)
    given = parser.parse_args()
    connections = Connections(given.port, given.path)
    try:
        print(json.dumps(asdict(drive(connections, given.rate, given.seconds))))
    finally:
        connections.close()


if __name__ == "__main__":
    main()
