"""A server that instrumented HTTP clients call: in this process, on loopback, in threads, so that any loop may call."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from swagent.record.trace.carrier import Carrier, parse_sw8

from .http_peer import Answer, HttpPeer, Request

PATIENCE = 10.0


class HttpServer(HttpPeer):
    """Answers by path, and keeps what it was asked. `/moved` leads to the same server by another name; `/held` and the
    second half of `/stream` come once `release` is set; `/broken` is a body that ends too early."""

    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(self._answer)
        self.asked = threading.Event()
        self.release = threading.Event()
        self.moved_address = f"localhost:{self.server_port}"

    @property
    def carriers(self) -> list[Carrier | None]:
        """The context that came with each request."""
        return [parse_sw8(each.headers["sw8"]) if "sw8" in each.headers else None for each in self.requests]

    def server_close(self) -> None:
        """Let go of those that wait, too."""
        self.release.set()
        super().server_close()

    def _answer(self, request: Request) -> Answer:
        self.asked.set()
        path = request.path.partition("?")[0]
        if path == "/held":
            self.release.wait(PATIENCE)
            raise ConnectionError("no answer")
        if path == "/moved":
            return Answer(302, b"", (("location", f"http://{self.moved_address}/orders/17"),))
        if path in ("/broken", "/stream"):
            return Answer(200, self._halves(path == "/broken"))
        return Answer(404 if path == "/missing" else 200, b"done")

    def _halves(self, is_broken: bool) -> Iterator[bytes]:
        yield b"half"
        if is_broken:
            raise ConnectionError("it ends too early")
        self.release.wait(PATIENCE)
        yield b"half"
