"""An exception that a framework answers itself is in the span of its request, as one that leaves the application is."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from swagent import local_span
from swagent.collector.store.trace_records import Span
from swagent.request.framework_errors import follow_errors
from wsgi import frameworks
from wsgi.calling import ask, environ_of, traced

pytestmark = [
    pytest.mark.anyio, pytest.mark.filterwarnings("ignore::DeprecationWarning")
]  # fmt: skip


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    # each framework logs the exceptions that it answers
    logging.disable(logging.ERROR)
    yield
    logging.disable(logging.NOTSET)


async def failed_request(app: Any, path: str) -> tuple[Span, list[dict[str, str]]]:
    async with traced(app) as shop:
        try:
            ask(shop.app, {**environ_of(path), "wsgi.errors": _Nowhere()})
        except LookupError:
            # Pyramid has no answer of its own
            assert "pyramid" in str(app)
        span = await shop.span()
    return span, [dict(log.data) for log in span.logs]


class _Nowhere:
    def write(self, text: str) -> None:
        pass

    def flush(self) -> None:
        pass


NONE: list[str] = []
MISSING, BUSY = ("/missing", "404", False, NONE), ("/busy", "503", True, NONE)
BROKEN = ("/broken", "500", True, ["wsgi.frameworks.Broken"])
FAILS = ("/fails", "500", True, ["LookupError"])
ALL = [FAILS, BROKEN, MISSING, BUSY]
TABLE: dict[Any, list[Any]] = {
    frameworks.flask: ALL,
    frameworks.falcon: ALL,
    frameworks.pyramid: ALL,
    frameworks.bottle: [FAILS, MISSING, BUSY],
    frameworks.django: [FAILS],
}


@pytest.mark.parametrize(
    ("make", "path", "status", "is_error", "kinds"),
    [pytest.param(make, *case, id=make.__name__ + case[0]) for make, cases in TABLE.items() for case in cases],
)
async def test_only_an_exception_that_is_a_failure_is_recorded(
    make: Any, path: str, status: str, is_error: bool, kinds: list[str]
) -> None:
    """An answer that the application raises is no exception."""
    span, logs = await failed_request(make(), path)
    assert (dict(span.tags)["http.status_code"], span.is_error) == (status, is_error)
    assert [log["error.kind"] for log in logs] == kinds
    if path == "/fails":
        assert (logs[0]["event"], logs[0]["message"]) == ("error", "no such lamp")
        assert logs[0]["stack"].endswith(("in view", "in on_get", "in fail", "in failure"))


async def test_an_exception_of_a_first_piece_of_bottle_is_recorded() -> None:
    bottle = pytest.importorskip("bottle")

    def view() -> Iterator[str]:
        raise LookupError("no such lamp")
        yield

    app = bottle.Bottle()
    app.route("/fails", callback=view)
    _, logs = await failed_request(app, "/fails")
    assert [log["error.kind"] for log in logs] == ["LookupError"]


async def test_an_exception_inside_a_span_that_lasts_is_in_the_span_of_the_request() -> None:
    app: Any = frameworks.flask()
    app.before_request(lambda: local_span("work").start() and None)

    async with traced(app) as shop:
        ask(shop.app, environ_of("/fails"))
        [segment] = await shop.segments()
    [entry] = [span for span in segment.spans if span.kind == "Entry"]
    assert [dict(log.data)["error.kind"] for log in entry.logs] == ["LookupError"]


async def test_the_scope_keeps_no_exception() -> None:
    environ = environ_of("/missing")
    async with traced(frameworks.flask()) as shop:
        ask(shop.app, environ)
    assert "swagent.error" not in environ["swagent.scope"]


async def test_an_exception_outside_of_any_request_goes_on() -> None:
    app: Any = frameworks.flask()
    async with traced(app) as shop:
        ask(shop.app, environ_of("/missing"))
        assert app.test_client().get("/fails").status_code == 500
        assert len(await shop.segments()) == 1


async def test_frameworks_that_look_otherwise_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["flask", "falcon.app", "bottle", "pyramid.view", "quart.signals", "django.core.handlers.exception"]
    others = [ModuleType(name) for name in names]
    for each in others:
        monkeypatch.setitem(sys.modules, each.__name__, each)
    before = [dict(vars(each)) for each in others]
    follow_errors()
    assert [vars(each) for each in others] == before


async def test_following_twice_is_following_once() -> None:
    async with traced(frameworks.falcon()) as shop:
        ask(shop.app, environ_of("/missing"))
    app = sys.modules["falcon"].App
    method = app._handle_exception
    follow_errors()
    assert app._handle_exception is method
