"""The embedded collector for a test: in this process, in a thread of its own, on free ports.

It runs in a thread because its servers need asyncio. So a test on trio, or one without any event loop, can use it as
well.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING

import anyio.to_thread
from typing_extensions import Self

from swagent.record.suppression import suppress_instrumentation

from .extra import needing_collector

if TYPE_CHECKING:
    from swagent.collector.server import Collector
    from swagent.collector.store.records import Event, Instance, LogLine, Meter
    from swagent.collector.store.store import Store
    from swagent.collector.store.trace_records import Segment, Span

# Seconds for the thread to begin and to end; both are far quicker.
_LONGEST_WAIT = 10.0


class Arrived:
    """The records that reached a collector. Each property looks anew and gives a copy. Any thread, any event loop."""

    def __init__(self, store: Store) -> None:
        self.store = store

    @property
    def segments(self) -> list[Segment]:
        """Every segment, in order of arrival."""
        return self.store.segments

    @property
    def spans(self) -> list[Span]:
        """Every span of every segment, in order of arrival. The spans of one segment are in the order in which they
        ended."""
        return [span for segment in self.segments for span in segment.spans]

    @property
    def logs(self) -> list[LogLine]:
        """Every log line, in order of arrival."""
        return self.store.logs

    @property
    def meters(self) -> list[Meter]:
        """The latest value of each series."""
        return self.store.meters

    @property
    def events(self) -> list[Event]:
        """Every event, in order of arrival."""
        from swagent.collector.store.records import Event  # noqa: PLC0415, RUF100  (its needs are an extra)

        return self.store.records(Event)

    @property
    def instances(self) -> list[Instance]:
        """Those heard from through properties or keep-alives."""
        return self.store.instances

    def trace(self, trace_id: str) -> list[Segment]:
        """The segments of one trace, in order of arrival; maybe none."""
        return self.store.trace(trace_id)


class RunningCollector(Arrived):
    """A collector for the length of a `with` or `async with` block.

    :ivar address: of gRPC, as `Config(collector=...)` takes it
    :ivar http_address: of the HTTP intake, as `Config(collector=..., protocol="http")` takes it
    :ivar page_address: of the page to look at while the test is stopped
    """

    address: str
    http_address: str
    page_address: str

    def __init__(self, token: str = "") -> None:
        """:param token: what agents must send as `authentication`; empty: no check"""
        self._token = token
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._begun = threading.Event()
        self._failure: BaseException | None = None

    @property
    def environ(self) -> Mapping[str, str]:
        """The environment variables that point an agent here, for a process that the test starts."""
        token = {"SW_AGENT_AUTHENTICATION": self._token} if self._token else {}
        return {"SW_AGENT_COLLECTOR_BACKEND_SERVICES": self.address, **token}

    async def wait_for(self, condition: Callable[[Self], object], timeout: float = 5.0) -> None:
        """Wait until a condition on what arrived holds. It is checked now and after each arrival. asyncio or trio. A
        cancelled wait leaves nothing behind.

        :param timeout: seconds
        :raises TimeoutError: when it does not hold in time; says what has been received
        """
        await self.store.wait_for(lambda _: bool(condition(self)), timeout)

    def wait(self, condition: Callable[[Self], object], timeout: float = 5.0) -> None:
        """Like `wait_for`, for a test without an event loop: blocks the thread.

        :raises TimeoutError: when it does not hold in time; says what has been received
        """
        anyio.run(self.wait_for, condition, timeout)

    def start(self) -> None:
        """Listen. Blocks until it does, which takes a moment.

        :raises ModuleNotFoundError: when the extra `collector` is not installed
        """
        with needing_collector():
            from swagent.collector.server import Collector  # noqa: PLC0415, RUF100
        self._begun.clear()
        self._failure = None
        # what the collector does is not recorded, by whatever agent there is in this process
        suppressed = contextvars.Context()
        suppressed.run(suppress_instrumentation.set, True)
        running = suppressed.run(Collector, token=self._token, http_port=0, page_port=0)
        self.store = running.store
        self._thread = threading.Thread(
            target=suppressed.run, args=(self._live, running), name="swagent-collector", daemon=True
        )
        self._thread.start()
        self._begun.wait(_LONGEST_WAIT)
        if self._failure is not None:
            self._thread.join(_LONGEST_WAIT)
            raise self._failure

    def stop(self) -> None:
        """Stop listening. The arrived records stay. Blocks for a second at most. A second call is
        harmless."""
        thread, self._thread = self._thread, None
        if thread is not None and self._loop is not None and self._stopping is not None:
            self._loop.call_soon_threadsafe(self._stopping.set)
            thread.join(_LONGEST_WAIT)

    def _live(self, running: Collector) -> None:
        # by name: the application that is tested may have a policy that makes a loop of another kind
        loop = asyncio.SelectorEventLoop()
        try:
            loop.run_until_complete(self._serve(running))
        except BaseException as error:
            self._failure = error
        finally:
            self._begun.set()
            loop.close()

    async def _serve(self, running: Collector) -> None:
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        async with running:
            self.address, self.http_address = running.address, running.http_address
            self.page_address = running.page_address
            self._begun.set()
            await self._stopping.wait()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        await anyio.to_thread.run_sync(self.start)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self.stop)


def collector(token: str = "") -> RunningCollector:
    """A collector in this process, for `with` or `async with`; needs the extra `collector`.

    :param token: what agents must send as `authentication`; empty: no check
    """
    return RunningCollector(token)
