"""The courier: a service of others, which reports by OpenTelemetry's own SDK. It says when an item can be brought.

There is nothing of swagent in it, and `swagent run` does not start it. Its spans are OpenTelemetry's, and so are the
headers that connect them with those of other services.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry import propagate, trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind

HOST, _, STOCK_PORT = os.environ.get("STOCK", "127.0.0.1:8002").partition(":")
# days: an item that is not on the shelf comes from the warehouse first
SOON, LATE = 1, 8

# straight to the stock, whatever proxy the environment names
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
tracer = trace.get_tracer("courier")


class Courier(BaseHTTPRequestHandler):
    """Answers `GET /deliveries/{item}`."""

    def do_GET(self) -> None:
        """Say in how many days an item can be brought."""
        caller = propagate.extract(self.headers)
        attributes = {"http.request.method": "GET", "http.route": "/deliveries/{item}", "url.path": self.path}
        with tracer.start_as_current_span("GET /deliveries/{item}", caller, SpanKind.SERVER, attributes) as span:
            item = self.path.rpartition("/")[2]
            content = json.dumps({"days": SOON if pieces_of(item) else LATE}).encode()
            span.set_attribute("http.response.status_code", 200)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the base class has it so)
        """Not a line for each request."""


def pieces_of(item: str) -> int:
    """How many pieces the stock has."""
    url = f"http://{HOST}:{STOCK_PORT}/stock/{item}"
    place: dict[str, str | int] = {"server.address": HOST, "server.port": int(STOCK_PORT)}
    attributes = {**place, "http.request.method": "GET", "url.full": url}
    with tracer.start_as_current_span("GET", kind=SpanKind.CLIENT, attributes=attributes) as span:
        headers: dict[str, str] = {}
        propagate.inject(headers)
        with opener.open(urllib.request.Request(url, headers=headers), timeout=20) as answer:
            span.set_attribute("http.response.status_code", answer.status)
            left: int = json.load(answer)["left"]
    return left


def main(port: int) -> None:
    """Serve until terminated. The name of the service and the address of the collector are in the environment."""
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    try:
        with ThreadingHTTPServer(("127.0.0.1", port), Courier) as server:
            server.serve_forever()
    finally:
        provider.shutdown()  # sends what has not been sent


if __name__ == "__main__":
    main(int(sys.argv[1]))
