"""The tracer: decides which traces are recorded, and hands finished segments on."""

from __future__ import annotations

import inspect
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from ...acceleration import native
from ...agent_log import RateLimitedLog
from ...forks import at_fork
from ..cardinality import CardinalityLimit
from ..own_network import is_on_own_network
from .ignore import Suffixes
from .model import OpenSegment
from .sampling import Sampler

_limited = RateLimitedLog()
_ANY_HOST = "*"
new_lock: Callable[[], AbstractContextManager[object]] = threading.RLock if native is None else native.Lock
_tracers: weakref.WeakSet[Tracer] = weakref.WeakSet()


class Tracer:
    """The agent that records spans, as far as they need to know it."""

    # those that the accelerator reads with spans and calls; all others are in the dict
    __slots__ = (
        "__dict__",
        "__weakref__",
        "endpoints",
        "instance",
        "lock",
        "peers",
        "propagates_to_few",
        "service",
        "span_limit",
        "traceparent",
    )

    def __init__(
        self,
        service: str,
        instance: str,
        offer: Callable[[Any], object],
        *,
        is_ignored: Callable[[str], bool] = lambda _: False,
        sampler: Sampler | None = None,
        span_limit: int = 512,
        correlation_limits: tuple[int, int] = (3, 128),
        propagate_to: Sequence[str] = (),
        trust_incoming: bool | Callable[[Any], bool] = True,
        endpoint_limit: int = 1000,
        peer_limit: int = 1000,
        real_path: bool = False,
        parameters_of: frozenset[int] = frozenset(),
        parameters_length: int = 0,
        traceparent: bool = True,
        grace: float = 30.0,
        splits_threads_every: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """
        :param offer: takes a finished segment; never raises, never waits
        :param correlation_limits: how many elements, and how many characters a value
        :param propagate_to: hosts that may know the context; empty means all, and so does `*` among them
        :param real_path: whether the URL of a request shows its path, and not its route
        :param parameters_of: components whose requests show the parameters of their query
        :param parameters_length: how many characters of these; 0: all
        :param traceparent: whether `traceparent` travels beside `sw8`, and is read where no `sw8` came
        :param grace: seconds for which a segment whose root has ended waits for its other spans
        :param splits_threads_every: of one in how many requests that threads serve the time is split; 0: of none
        :param clock: monotonic seconds
        """
        self.service = service
        self.instance = instance
        self.is_ignored = is_ignored
        self.ignores_dots_only = isinstance(is_ignored, Suffixes)
        """Whether an operation without a dot in its name is never ignored. Then no name has to be made just to ask."""
        self.span_limit = span_limit
        self.correlation_limits = correlation_limits
        self.trust_incoming = trust_incoming
        self.real_path = real_path
        self.parameters_of = parameters_of
        self.parameters_length = parameters_length
        self.traceparent = traceparent
        self.endpoints = CardinalityLimit("endpoints", endpoint_limit)
        self.peers = CardinalityLimit("peers", peer_limit)
        # re-entrant: a signal handler or a finaliser may end a span while this thread is inside
        self.lock = new_lock()
        self.grace = grace
        self.splits_threads_every = splits_threads_every
        self.clock = clock
        self.incomplete = 0
        """How many spans were sent that the application had not ended."""
        self.open_segments: dict[OpenSegment, None] = {}
        self._wake: Callable[[], object] | None = None
        self._offer = offer
        self.offer_request: Callable[[tuple[object, ...]], object] | None = None
        """Takes a request whose span was never needed, see `FinishedRequest`. None: a span is made of each."""
        self._sampler = sampler or Sampler(0)
        self._samples_all = self._sampler.takes_all
        self._needs_no_facts = isinstance(trust_incoming, bool) and not parameters_of
        self.may_decide_late = self._samples_all and self._needs_no_facts
        self.decides_late = self.may_decide_late
        """Whether a root span may find out later if it is recorded: no sampler counts, no code of the user's decides,
        and the span shows no more than the fast path knows. False while requests are watched."""
        self.request_watch: Callable[[Any], object] | None = None
        self._hosts = frozenset(host.lower() for host in propagate_to)
        self.propagates_to_few = bool(self._hosts) and _ANY_HOST not in self._hosts
        """Whether not every peer may know the context, see `propagates_to`."""
        _tracers.add(self)

    def watch_requests(self, watch: Callable[[Any], object] | None) -> None:
        """Call a function with each request that begins, in the request's own task. It must not raise. While there
        is none, it costs nothing.

        :param watch: None: call nothing any more
        """
        self.request_watch = watch
        self.decides_late = self.may_decide_late and watch is None

    def sample_by(self, sampler: Sampler) -> None:
        """Let another sampler decide on the traces that begin from now on."""
        self._sampler = sampler
        self._samples_all = sampler.takes_all
        self.may_decide_late = self._samples_all and self._needs_no_facts
        self.decides_late = self.may_decide_late and self.request_watch is None

    def ignore_by(self, is_ignored: Callable[[str], bool]) -> None:
        """Ask another function which operations are ignored, from now on."""
        self.is_ignored = is_ignored
        self.ignores_dots_only = isinstance(is_ignored, Suffixes)

    def samples(self, forced: bool) -> bool:
        """Whether one trace more is recorded."""
        if self._samples_all:
            return True
        with self.lock:
            return self._sampler.take(forced)

    def propagates_to(self, peer: str) -> bool:
        """Whether a call to this peer (`host` or `host:port`) may carry the context. If the peer is several brokers,
        each of them has to be allowed."""
        return not self.propagates_to_few or self._are_named(peer)

    def propagates_to_foreign(self, peer: str) -> bool:
        """Whether a call to a service that is most often another company's may carry the context: if it is named, or on
        the application's own network, as a gateway is."""
        return self._are_named(peer) or (not self.propagates_to_few and is_on_own_network(peer))

    def _are_named(self, peer: str) -> bool:
        return all(self._may_know(address) for address in peer.lower().replace(",", ";").split(";"))

    def _may_know(self, address: str) -> bool:
        return address in self._hosts or address.rpartition(":")[0] in self._hosts

    def trusts(self, request: Any) -> bool:
        """Whether the context that came with a request (an ASGI scope) is continued."""
        if isinstance(self.trust_incoming, bool):
            return self.trust_incoming
        try:
            answer: Any = self.trust_incoming(request)
            if inspect.isawaitable(answer):
                # an awaitable is true, whatever its result will be
                getattr(answer, "close", int)()
                raise TypeError("it is async, so it has no answer yet")
            return bool(answer)
        except Exception as error:  # noqa: BLE001, RUF100  (the user's: its fault costs the context, not the request)
            _limited.warn("trust_incoming", "trust_incoming failed, and this caller is not trusted: %r", error)
            return False

    # -- open segments ------------------------------------------------------------------------------------------------

    def watch(self, segment: OpenSegment) -> None:
        """Keep a segment in view until it is finished."""
        self.open_segments[segment] = None
        if self._wake is not None:
            self.wake_when_watching(None)

    def wake_when_watching(self, wake: Callable[[], object] | None) -> None:
        """Set the function that is called once, when a segment is opened. None: call the one that is set, now."""
        former, self._wake = self._wake, wake
        if former is not None and wake is None:
            former()

    def finish_overdue_segments(self) -> bool:
        """Finish the segments that have waited for long enough. False: none is open."""
        now = self.clock()
        for segment in tuple(self.open_segments):
            segment.finish_overdue(now, self.grace)
        return bool(self.open_segments)

    def finish_open_segments(self) -> None:
        """End and mark the spans that are open, and finish all segments."""
        for segment in tuple(self.open_segments):
            segment.finish_as_it_stands()

    def forget(self, segment: OpenSegment) -> None:
        """Keep a segment in view no longer."""
        self.open_segments.pop(segment, None)

    def finish(self, segment: OpenSegment) -> None:
        """Hand a finished segment on, and break the cycle of segment and spans so that nothing is left to the
        garbage collector, even where a task's context still holds one of them."""
        self.forget(segment)
        if segment.spans:
            self._offer(segment)
        segment.forget_spans()


installed: list[Tracer] = []
"""Those that are running, the one in charge last; to be looked at only. See `running`."""
_awaken: Callable[[], object] | None = None


def install(tracer: Tracer) -> None:
    """Make a tracer the one that new traces go to, until it is uninstalled."""
    global _awaken  # noqa: PLW0603, RUF100
    _awaken = None
    installed.append(tracer)


def uninstall(tracer: Tracer) -> None:
    """Take a tracer back; the one installed before it, if any, is asked again. Unknown ones are no error."""
    if tracer in installed:
        installed.remove(tracer)


def running() -> Tracer | None:
    """The tracer installed last. A process-wide place, not a context variable: servers start each request in a fresh
    context that has seen nothing of the start-up."""
    return installed[-1] if installed else _awakened()


def when_missed(awaken: Callable[[], object] | None) -> None:
    """Let a span that finds no tracer call this; it may install one. Installing one takes this back, and so does
    None."""
    global _awaken  # noqa: PLW0603, RUF100
    _awaken = awaken


def _awakened() -> Tracer | None:
    awaken = _awaken
    if awaken is not None:
        awaken()
    return installed[-1] if installed else None


def _leave_to_parent() -> None:
    for tracer in list(_tracers):
        tracer.lock = new_lock()
        tracer.open_segments.clear()
        tracer.endpoints.renew_lock()
        tracer.peers.renew_lock()


# a thread of the parent may have held the lock at the fork; in the child it would never be released
at_fork(after_in_child=_leave_to_parent)
