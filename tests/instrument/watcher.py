"""Functions of an application's that get a library's calls, in the tests of the single libraries."""

from __future__ import annotations

from typing import Any

from swagent import Config
from swagent.instrument import instrument


class Watcher:
    """Keeps each call that it is shown, with the name of the call's span.

    :ivar has_seen_ended: whether a span was over when it was shown
    """

    def __init__(self, is_failing: bool) -> None:
        """:param is_failing: raise then, which must not change anything"""
        self._is_failing = is_failing
        self.requests: list[tuple[str, Any]] = []
        self.responses: list[tuple[str, Any]] = []
        self.has_seen_ended = False

    def watch(self, name: str) -> None:
        """Get a library's calls from now on, until the end of the test."""
        instrument(
            name,
            config=Config(trace_calls_outside_requests=True),
            on_request=self._on_request,
            on_response=self._on_response,
        )

    def _on_request(self, span: Any, request: Any) -> None:
        self._keep(self.requests, span, request)

    def _on_response(self, span: Any, response: Any) -> None:
        self._keep(self.responses, span, response)

    def _keep(self, kept: list[tuple[str, Any]], span: Any, shown: Any) -> None:
        kept.append((span.name, shown))
        self.has_seen_ended |= span.ended
        if self._is_failing:
            raise RuntimeError("the application's own mistake")
