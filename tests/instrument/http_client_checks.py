"""The facts about each client of HTTP: a test module gives a class of these checks the calls of its library."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from typing import Any, ClassVar

import pytest

from kit.servers import dead_address
from record.recorded import Recorder, recording
from swagent import exit_span, local_span
from swagent.record.suppression import suppress_instrumentation

from .http_server import HttpServer
from .trees import trees
from .watcher import Watcher


class HttpClientChecks:
    """Of one GET at a time, to the end of its body."""

    library: ClassVar[str]
    component: ClassVar[str]
    userinfo: ClassVar[str] = "user:secret@"
    """What a URL may have before the host."""

    def get(self, url: str, headers: Mapping[str, str] = {}, timeout: float | None = 10) -> None:
        """Ask, and follow redirects."""
        raise NotImplementedError

    def test_a_call_is_one_span_and_carries_the_context(self, recorder: Recorder, server: HttpServer) -> None:
        with local_span("job"):
            self.get(f"http://{self.userinfo}{server.address}/orders/17?token=secret")
        assert trees(recorder) == (
            "Local job\n"
            f"  Exit /orders/{{id}} {self.component}/HTTP {server.address} http.method=GET "
            f"http.url={server.url}/orders/{{id}} http.status_code=200"
        )
        (carrier,) = server.carriers
        assert carrier is not None
        assert (carrier.trace_id, carrier.segment_id) == (recorder.only.trace_id, recorder.only.id)
        assert (carrier.span_id, carrier.address) == (1, server.address)

    def test_a_call_is_shown(self, recorder: Recorder, server: HttpServer, watcher: Watcher) -> None:
        watcher.watch(self.library)
        self.get(f"{server.url}/orders")
        ((name, sent),), ((_, answer),) = watcher.requests, watcher.responses
        assert (name, str(getattr(sent, "full_url", None) or sent.url)) == ("/orders", f"{server.url}/orders")
        assert (getattr(answer, "status_code", None) or answer.status) == 200
        assert not watcher.has_seen_ended
        assert [span.failed for span in recorder.only.spans] == [False]

    def test_a_redirect_sends_each_host_its_own_address(self, recorder: Recorder, server: HttpServer) -> None:
        with local_span("job"):
            self.get(f"{server.url}/moved")
        assert recorder.names == [["job", "/moved"]]
        assert dict(recorder.span("/moved").tags)["http.status_code"] == "200"
        assert [carrier and carrier.address for carrier in server.carriers] == [server.address, server.moved_address]

    def test_a_redirect_to_a_host_that_may_not_know_carries_nothing(self, server: HttpServer) -> None:
        with recording(propagate_to=[server.address]), local_span("job"):
            self.get(f"{server.url}/moved")
        assert [carrier is not None for carrier in server.carriers] == [True, False]

    def test_a_failure_shows(self, recorder: Recorder, server: HttpServer) -> None:
        self._get_in_vain(f"{server.url}/missing")
        assert trees(recorder).endswith("http.status_code=404 FAILED")
        with dead_address() as address:
            self._get_in_vain(f"http://{address}/refused")
        self._get_in_vain(f"{server.url}/held", timeout=0.05)
        refused, held = recorder.span("/refused"), recorder.span("/held")
        assert (refused.failed, held.failed, dict(held.tags)["outcome"]) == (True, True, "timed_out")
        assert "error.kind" in dict(refused.logs[0][1])

    def _get_in_vain(self, url: str, **options: Any) -> None:
        # some raise an error for a status
        with suppress(Exception):
            self.get(url, **options)

    @pytest.mark.parametrize("headers", [{}, {"sw8": "a caller's, passed on"}], ids=["none", "written"])
    def test_a_call_inside_a_call_carries_the_outer_one(
        self, headers: Mapping[str, str], recorder: Recorder, server: HttpServer
    ) -> None:
        with exit_span("by hand", server.address):
            self.get(f"{server.url}/orders", headers)
        assert recorder.names == [["by hand"]]
        assert [carrier and carrier.segment_id for carrier in server.carriers] == [recorder.only.id]

    def test_the_agents_own_calls_are_left_alone(self, recorder: Recorder, server: HttpServer) -> None:
        token = suppress_instrumentation.set(True)
        self.get(f"{server.url}/orders")
        suppress_instrumentation.reset(token)
        assert (recorder.segments, server.carriers) == ([], [None])

    def test_without_an_agent_nothing_is_done(self, server: HttpServer) -> None:
        self.get(f"{server.url}/orders", {"sw8": "as it came"})
        assert server.requests[0].headers["sw8"] == "as it came"


class StreamChecks:
    """Of a body that is read later."""

    def stream(self, url: str) -> AbstractContextManager[Callable[[], bytes]]:
        """Ask, and yield what reads the body."""
        raise NotImplementedError

    def test_a_streamed_body_belongs_to_the_call_and_what_is_done_meanwhile_does_not(
        self, recorder: Recorder, server: HttpServer
    ) -> None:
        with local_span("job"), self.stream(f"{server.url}/stream") as read:
            with local_span("work"):
                server.release.set()
            assert read() == b"halfhalf"
        assert [recorder.parent_of(name) for name in ("/stream", "work")] == ["job", "job"]
        assert recorder.span("work").end_time <= recorder.span("/stream").end_time
        assert not recorder.span("/stream").failed

    def test_a_body_that_ends_too_early_failed(self, recorder: Recorder, server: HttpServer) -> None:
        with pytest.raises(Exception), self.stream(f"{server.url}/broken") as read:  # noqa: B017, PT011, RUF100
            read()
        assert recorder.span("/broken").failed
