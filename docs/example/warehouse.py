"""The warehouse: a script on the standard library alone. It takes its time, and has no umbrellas.

There is nothing of swagent in it: `swagent run` shows what it does.
"""

from __future__ import annotations

import json
import logging
import random
import signal
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")

# sofas are made one by one
PIECES = {"lamp": 10, "chair": 6, "desk": 5, "kettle": 12, "sofa": 1}
SLOW = 500

log = logging.getLogger("warehouse")


class Warehouse(BaseHTTPRequestHandler):
    """Answers `GET /pieces/{item}`."""

    def do_GET(self) -> None:
        """Send some pieces of an item."""
        item = self.path.rpartition("/")[2]
        content = json.dumps({"pieces": find(item)}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the base class has it so)
        """Not a line for each request."""


def find(item: str) -> int:
    """How many pieces there are. There is no warehouse: this only takes as long as if there were one."""
    if item not in PIECES:
        return 0
    milliseconds = random.uniform(150, 900)
    time.sleep(milliseconds / 1000)
    if milliseconds > SLOW:
        log.warning("it took %.0f ms to find %s", milliseconds, item)
    return PIECES[item]


def main(port: int) -> None:
    """Serve until terminated."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    with ThreadingHTTPServer(("127.0.0.1", port), Warehouse) as server:
        server.serve_forever()


if __name__ == "__main__":
    main(int(sys.argv[1]))
