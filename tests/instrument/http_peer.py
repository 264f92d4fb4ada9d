"""A web server in a thread of this process, which answers as a test says."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from typing_extensions import Self


class Request(NamedTuple):
    method: str
    path: str
    headers: dict[str, str]
    """Their names in lower case."""
    body: bytes


class Answer(NamedTuple):
    status: int = 200
    body: Any = None
    """A value that JSON can hold, or bytes, or an iterable of bytes: the parts of a stream."""
    headers: tuple[tuple[str, str], ...] = ()


class HttpPeer(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, answer: Callable[[Request], Answer]) -> None:
        self.answer = answer
        self.requests: list[Request] = []
        super().__init__(("127.0.0.1", 0), _Handler)
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()
        self._thread.join()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"

    @property
    def url(self) -> str:
        return f"http://{self.address}"

    def handle_error(self, *_: object) -> None:
        """A client may go away at any time."""


class _Handler(BaseHTTPRequestHandler):
    server: HttpPeer
    protocol_version = "HTTP/1.1"

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except ConnectionError:  # of the client, or of an answer that breaks off
            self.close_connection = True

    def _answer(self) -> None:
        body = b"".join(self._read())
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.command, self.path, headers, body)
        self.server.requests.append(request)
        answer = self.server.answer(request)
        self.send_response(answer.status)
        for header in answer.headers:
            self.send_header(*header)
        if isinstance(answer.body, Iterator):
            self._stream(answer.body)
            return
        sent = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
        self.send_header("content-length", str(len(sent)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(sent)

    def _read(self) -> Iterator[bytes]:
        if self.headers.get("transfer-encoding", "") != "chunked":
            yield self.rfile.read(int(self.headers.get("content-length") or 0))
            return
        while size := int(self.rfile.readline().split(b";")[0], 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def _stream(self, parts: Iterator[bytes]) -> None:
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        if self.command == "HEAD":
            return
        for part in parts:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_OPTIONS = do_PATCH = _answer  # noqa: N815

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def http_peer(answer: Callable[[Request], Answer]) -> HttpPeer:
    """One that answers in a block."""
    return HttpPeer(answer)
