"""The entry span of one request: active before the application sees it, ended with the last byte of the response.

It costs every request, so it does no more than it must while one is served: it notes when the request began, which
status was sent and when it was over. The rest is `operation`'s.
"""

from __future__ import annotations

import time

from ..record.suppression import suppress_instrumentation
from ..record.trace.context import current, nearest_open, switch
from ..record.trace.tracer import Tracer
from .faults import Faults
from .operation import OperationSpan
from .scope import Scope

# Marks a scope that a middleware has taken already, so that a second one inside the first stands aside.
MARK = "swagent.span"


class RequestSpan(OperationSpan):
    """The entry span of one http or websocket scope.

    It holds neither the server's `send` nor, once it has ended, the scope. Servers leave timers behind that remember
    the context of the request, and so this span, for as long as the connection is idle: all that it held would be
    kept, and the garbage collector called for it.
    """

    __slots__ = ()

    def __init__(self, tracer: Tracer, scope: Scope, faults: Faults) -> None:
        """Begins it as well; whoever makes it calls `leave` when the application has returned."""
        super().__init__(tracer, scope, faults)
        inherited = self.previous = current.get()
        # not the span itself: scope and span would hold each other
        scope[MARK] = True
        if inherited is not None or not tracer.decides_late or suppress_instrumentation.get():
            self._open_among(inherited)
        switch(current, self)

    def stop(self) -> None:
        """End now. It stays the active one: what the application does after its response belongs to the trace still."""
        if self.ended:
            return
        if self.previous is not None:
            self.previous = nearest_open(self.previous)
        end_time = time.monotonic()
        offer = self._tracer.offer_single_span
        if offer is not None and not self._is_open:
            segment = self.finish_fast(end_time)
            if segment is not None:
                offer(segment)
                return
            if self.ended:
                return
        self._end(end_time)

    def leave(self) -> None:
        """Be the active span no longer: the server may serve its next request in this very context."""
        if current.get() is self:
            switch(current, self.previous)
