"""The state of a request while it is served, and its beginning and its end where nothing is unusual.

Each request passes through here, so every line counts. The accelerator has the same in C (`request.c`): its type takes
the place of `RequestState`, and calls the Python code for all that is unusual.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any

from ..acceleration import native
from ..record.suppression import suppress_instrumentation
from ..record.trace import ids
from ..record.trace.context import Active, current
from ..record.trace.ids import new_number
from ..record.trace.model import Component
from ..record.trace.span import Span
from ..record.trace.tracer import Tracer
from .description import name_so_far
from .facts import OTHER, Facts
from .faults import Faults
from .routes import ARE_FASTAPI, FASTAPI, METHODS, path_of
from .scope import Scope, read_facts, read_headers
from .span import RequestSpan
from .split_times import Clock

UNREADABLE = Facts(OTHER, "http", b"", OTHER, None, Component.PYTHON, 0)
UNREAD: Any = object()
"""A header that has not been looked for yet."""
NOTHING: Scope = {}
"""In the place of the scope of a request that is over."""


class Following:
    """A response that is followed message by message.

    :ivar client_is_gone: whether the server said so
    """

    __slots__ = ("client_is_gone",)

    def __init__(self) -> None:
        self.client_is_gone = False


class RequestState:
    """One http or websocket scope: what is known of it so far.

    It does not hold the server's `send`, nor the scope after its end. The timers of a server keep the context of the
    request, and so the request, as long as the connection is idle. All that the request held would be kept too, and
    left to the garbage collector.

    :ivar status: of the response; 0 until it has begun
    :ivar span: None until it is needed
    :ivar previous: the entry that was active before the request
    :ivar clock: the split of its time; None: its time is not split
    :ivar following: the state of a response that is followed message by message; None for a status and one body
    """

    __slots__ = ("_caller", "_facts", "_host", "_trace_id", "clock", "end_time", "ended", "faults", "following",
                 "number", "previous", "scope", "span", "start_time", "status", "tracer")  # fmt: skip

    def __init__(self, tracer: Tracer, scope: Scope, faults: Faults) -> None:
        """Begins the request, and makes it the active entry of this context."""
        self.tracer = tracer
        self.scope = scope
        self.faults = faults
        self.number = new_number()
        self.status = 0
        self.ended = False
        self.span: RequestSpan | None = None
        self.following: Following | None = None
        self.clock: Clock | None = None
        self._caller: bytes | None = UNREAD
        self._trace_id: str | None = None
        self._facts: tuple[Any, ...] | None = None
        inherited: Any = current.get()
        # most inherit nothing, and this is the quickest check for that
        if inherited is not None and (type(inherited) is type(self) and inherited.ended and inherited.previous is None):
            # the request before this one, in a server that keeps one context for a connection
            inherited = None
        self.previous: Active[Span] | None = inherited  # pyright: ignore[reportAttributeAccessIssue]
        self.start_time: float = monotonic()
        # not by `switch`: no finaliser serves a request
        current.set(self)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        if inherited is not None or not tracer.decides_late or suppress_instrumentation.get():
            self._open_among(inherited)  # pyright: ignore[reportArgumentType]

    def finish(self) -> None:
        """End now. The request stays active: the work after the response still belongs to the trace. A second end does
        nothing."""
        offer = self.tracer.offer_request
        if offer is None:
            self.to_span()
        if self.span is None and not self.ended:
            try:
                caller, scope = self._caller, self.scope
                if caller is UNREAD:
                    # as in `_read_caller`, without the call
                    self._host, caller, is_traced_otherwise = read_headers(scope)
                    if caller is not None or is_traced_otherwise:
                        caller = self._judge(caller, is_traced_otherwise)
                facts = read_facts(scope, self._host, self.status, self.faults)
                client = scope.get("client")
            except Exception as error:  # noqa: BLE001, RUF100  (a scope that no specification knows; it costs no request)
                self.faults.note("reading a request", error)
                facts, caller, client = UNREADABLE, None, None
            now = monotonic()
            # a second stop, by another thread that opens the span, changes nothing
            times = self.clock.stop(now) if self.clock is not None else None
            # no call in these lines, so they are one step for another thread that opens the span
            if self.span is None and not self.ended:
                self.end_time = now
                self.ended = True
                self._caller = caller
                self._facts = facts
                self.scope = NOTHING
                if offer is not None:
                    # a FinishedRequest; joining takes half as long as unpacking
                    offer((self.number, self.start_time, now, client, caller, times) + facts)  # noqa: RUF005
                return
        if self.span is not None:
            self.span.stop()

    # -- of the request: what is unusual ------------------------------------------------------------------------------

    def is_stepped_here(self) -> bool:
        """Whether a step of it is on the stack of this thread, where the accelerator serves it."""
        return False

    def to_span(self) -> RequestSpan | None:
        """The span of this request."""
        raise NotImplementedError

    def _open_among(self, inherited: Active[Span] | None) -> None:
        """Open at once, if not the request alone decides whether it is recorded."""
        raise NotImplementedError

    def _judge(self, caller: bytes | None, is_traced_otherwise: bool) -> bytes | None:
        """The header `sw8`, where it is trusted."""
        raise NotImplementedError


def _choose() -> type[RequestState]:
    """The accelerator's type, where it runs."""
    if native is None:
        return RequestState
    native.configure_origins(vars(ids), name_so_far)
    native.configure(
        current=current,
        suppressed=suppress_instrumentation,
        numbers=new_number.__self__,  # type: ignore[attr-defined]
        unread=UNREAD,
        nothing=NOTHING,
        methods=METHODS,
        other=OTHER,
        path_of=path_of,
        fastapi=FASTAPI,
        is_fastapi=ARE_FASTAPI.__getitem__,
    )
    return native.RequestState  # type: ignore[no-any-return]


if TYPE_CHECKING:
    ChosenState = RequestState
else:
    ChosenState = _choose()
