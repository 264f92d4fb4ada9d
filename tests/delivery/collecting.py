"""The collector in a process of its own, as `swagent collector` starts it, and what its API says of what arrived."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx

TESTS = Path(__file__).parents[1]
TOPICS = [f"skywalking-{each}" for each in ("segments", "logs", "meters", "managements", "profilings")]
_FREE_PORTS = ("--port", "0", "--http-port", "0", "--page-port", "0")
# Seconds for the next change at the collector.
_PATIENCE = 5.0


class RemoteCollector:
    """Asks a collector over HTTP.

    :ivar addresses: by transport, as an agent takes it; None where it does not listen
    """

    def __init__(self, client: httpx.Client) -> None:
        self._client = client
        self.addresses: dict[str, str | None] = self.ask("status")

    def ask(self, path: str, **parameters: str) -> Any:
        """An answer of the API."""
        answer = self._client.get(f"/api/{path}", params=parameters)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def wait_for(self, condition: Callable[[], object]) -> None:
        """Wait until a condition on its answers holds, or nothing changes for a while. What goes through a broker comes
        here after the agent has its confirmation."""
        with suppress(httpx.ReadTimeout), self._client.stream("GET", "/api/live") as changes:
            for line in changes.iter_lines():
                if line.startswith("data:") and condition():
                    return


@contextmanager
def collecting(kafka: str = "") -> Iterator[RemoteCollector]:
    """A collector for the length of the block.

    :param kafka: the broker that it reads from, too
    """
    command = [sys.executable, "-m", "swagent", "collector", "--quiet", *_FREE_PORTS, "--kafka", kafka]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            page = next((line.strip() for line in process.stdout if line.startswith("  http://")), None)
            assert page is not None, "the collector did not start"
            with httpx.Client(base_url=page, trust_env=False, timeout=_PATIENCE) as client:
                yield RemoteCollector(client)
        finally:
            process.terminate()


@contextmanager
def broker() -> Iterator[str]:
    """A Kafka broker for the length of the block; its address."""
    command = [sys.executable, "-m", "delivery.broker", *TOPICS]
    with subprocess.Popen(command, cwd=TESTS, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()
