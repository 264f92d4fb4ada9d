"""Leaving a loop's turns while another thread leaves them."""

from __future__ import annotations

from collections.abc import Callable
from selectors import DefaultSelector
from typing import Any

from swagent.inspection.loop_turns import _SelectorTurns


class Namespace(dict[str, Any]):
    """An object's attributes; between a look at them and the next step, another thread may do something."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: Callable[[], object] | None = None

    def get(self, name: str, default: Any = None) -> Any:
        found = super().get(name, default)
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()
        return found


class Selector(DefaultSelector):
    """Its attributes can be watched."""

    namespace = Namespace()
    __dict__ = property(lambda self: self.namespace)


def test_two_threads_may_leave_at_once() -> None:
    """The watch's thread leaves as it stops, and the loop's own in the middle of a call, which must not raise."""
    with Selector() as selector:
        turns = _SelectorTurns(selector)
        assert turns.enter(lambda: None, lambda: None)
        assert "select" in selector.namespace
        selector.namespace.meanwhile = turns.leave
        turns.leave()
        assert selector.namespace == {}
