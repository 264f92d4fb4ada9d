"""A web server that says what it was sent, always in the same way, and nothing of what the agent has added."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from differential.observation import ADDED

_VARYING = ("host", "connection", "accept-encoding", "user-agent", "accept")


class WebPeer(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def handle_error(self, *_: object) -> None:
        """A client may go away at any time."""


class Handler(BaseHTTPRequestHandler):
    """Answers by the path."""

    protocol_version = "HTTP/1.1"

    def answer(self) -> None:
        body = self._read()
        path = self.path.partition("?")[0]
        if path == "/broken":
            self.close_connection = True
        elif path == "/stream":
            self._stream()
        elif path == "/moved":
            self._send(302, b"", location="/echo?moved=1")
        elif path == "/again":
            self._send(302, b"", location="/again")
        elif path == "/text":
            self._send(200, b"caf\xe9\r\nline\n", content_type="text/plain; charset=latin-1", set_cookie="a=1")
        else:
            self._say(path, body)

    def _say(self, path: str, body: bytes) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        headers = {name: value for name, value in headers.items() if name not in (*ADDED, *_VARYING)}
        said = {"method": self.command, "path": self.path, "headers": headers, "body": body.decode("latin-1")}
        status = int(path[8:11]) if path.startswith("/status/") else 200
        self._send(status, json.dumps(said).encode(), content_type="application/json", x_peer="web")

    def _send(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _stream(self) -> None:
        self.send_response(200)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(b"3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n")

    def _read(self) -> bytes:
        if self.headers.get("transfer-encoding", "") != "chunked":
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_OPTIONS = do_PATCH = answer  # noqa: N815

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def web_peer() -> Iterator[Mapping[str, str]]:
    """One that answers."""
    with WebPeer(("127.0.0.1", 0), Handler) as peer:
        thread = threading.Thread(target=peer.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield {"URL": f"http://127.0.0.1:{peer.server_port}", "HOST": f"127.0.0.1:{peer.server_port}"}
        finally:
            peer.shutdown()
            thread.join()
