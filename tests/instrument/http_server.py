"""A server that instrumented HTTP clients call: in this process, on loopback, in threads, so that any loop may call."""

from __future__ import annotations

import threading
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, cast

from typing_extensions import Self

from swagent.record.trace.carrier import Carrier, parse_sw8

PATIENCE = 10.0


class HttpServer(ThreadingHTTPServer):
    """Answers by path, and keeps what it was asked. `/moved` leads to the same server by another name; `/held` and the
    second half of `/stream` come once `release` is set; `/broken` is a body that ends too early."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[tuple[str, Message]] = []
        self.asked = threading.Event()
        self.release = threading.Event()
        self.address = f"127.0.0.1:{self.server_port}"
        self.moved_address = f"localhost:{self.server_port}"
        self.url = f"http://{self.address}"
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release.set()
        self.shutdown()
        self.server_close()

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away is no error here."""

    @property
    def carriers(self) -> list[Carrier | None]:
        """The context that came with each request."""
        return [parse_sw8(headers["sw8"]) if "sw8" in headers else None for _, headers in self.requests]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        server = cast("HttpServer", self.server)
        server.requests.append((self.path, self.headers))
        server.asked.set()
        self._answer(server, self.path.partition("?")[0])

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        self.do_GET()

    def _answer(self, server: HttpServer, path: str) -> None:
        if path == "/held":
            server.release.wait(PATIENCE)
            self.close_connection = True
        elif path == "/moved":
            self._send(302, location=f"http://{server.moved_address}/orders/17")
        elif path == "/broken":
            self._send(200, b"half", content_length="10")
            self.close_connection = True
        elif path == "/stream":
            self._send(200, b"half", content_length="8")
            server.release.wait(PATIENCE)
            self.wfile.write(b"half")
        else:
            self._send(404 if path == "/missing" else 200, b"done")

    def _send(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in {"content_length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, *args: Any) -> None:
        """Nothing is printed."""
