"""The context that comes with a request: continued when it is well-formed and trusted, and harmless otherwise."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asgi.calling import CARRIER, SW8, answers, body, call, doing, http_scope, segments_of, span_of, start, traced
from faults.covering import covers
from record.hostile_headers import HOSTILE as HOSTILE_HEADERS
from swagent import Config, current_trace_id, exit_span, get_correlation
from swagent.agent_log import RateLimitedLog
from swagent.asgi import SkyWalkingMiddleware
from swagent.asgi.lifespan import Receive, Scope, Send
from swagent.record.trace.carrier import format_correlation
from swagent.record.trace.segment import Segment
from swagent.record.trace.tracer import Tracer

pytestmark = pytest.mark.anyio

FIELDS = SW8.split(b"-")


HOSTILE: dict[str, list[bytes]] = {
    **{name: [header.encode()] for name, header in HOSTILE_HEADERS.items()},
    "blank": [b" "],
    "no context at all": [b"null"],
    "raw bytes": [b"\xff\xfe\x00\x01"],
    "span id a latin-1 digit": [SW8.replace(b"-3-", b"-\xb2-")],
    "NUL": [SW8 + b"\x00"],
    "1 MiB": [b"x" * 1_048_576],
    "1 MiB of separators": [b"-" * 1_048_576],
    "control characters in an id": [SW8.replace(FIELDS[1], b64encode(b"trace\r\nforged"))],
    "a direction override in an id": [SW8.replace(FIELDS[2], b64encode("a\u202eb".encode()))],
    "twice": [SW8, SW8],
    "twice, once good": [b"bad", SW8],
    "comma and blank": [SW8 + b", " + SW8],
    "percent-encoded": [SW8.replace(b"=", b"%3D")],
}


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers what it was asked."""
    asked = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
    await send({**start(), "headers": [(b"content-type", b"application/json")]})
    await send(body(json.dumps([scope["path"], asked]).encode()))


async def test_the_trace_is_continued() -> None:
    seen: list[str] = []
    [segment] = await segments_of(doing(lambda: seen.append(current_trace_id())), http_scope("/", [(b"sw8", SW8)]))
    [reference] = segment.spans[0].references
    assert segment.trace_id == CARRIER.trace_id == seen[0]
    assert (reference.kind, reference.trace_id, reference.segment_id, reference.span_id) == (
        "CrossProcess", *CARRIER[1:4])  # fmt: skip
    assert (reference.service, reference.instance, reference.endpoint, reference.address) == CARRIER[4:]


async def test_correlation_travels_through() -> None:
    passed_on: dict[str, str] = {}

    def ask() -> None:
        assert get_correlation("user") == "7"
        with exit_span("GET:/stock", peer="stock:80") as span:
            passed_on.update(span.headers())

    correlation = format_correlation({"user": "7"})
    async with traced(doing(ask)) as shop:
        await call(shop.app, http_scope("/", [(b"sw8", SW8), (b"sw8-correlation", correlation.encode())]))
    assert passed_on["sw8-correlation"] == correlation


async def test_correlation_without_a_trace_is_not_taken() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        assert get_correlation("user") is None
        await answers()(scope, receive, send)

    assert (await span_of(app, http_scope("/", [(b"sw8-correlation", b"dXNlcg==:Nw==")]))).operation == "GET:/"


@pytest.mark.one_loop
@covers("D01")
@pytest.mark.parametrize("values", HOSTILE.values(), ids=HOSTILE)
async def test_a_hostile_header_changes_nothing(values: list[bytes]) -> None:
    """As `sw8` it begins a new trace; as `sw8-correlation` the caller's goes on."""
    new = http_scope("/items/7", [(b"sw8", value) for value in values])
    continued = http_scope("/items/7", [(b"sw8", SW8), *((b"sw8-correlation", value) for value in values)])
    async with traced(echo) as shop:
        for scope in (new, continued):
            assert await call(shop.app, dict(scope)) == await call(echo, dict(scope))
        first, second = await shop.segments()
    assert not first.spans[0].references
    assert first.trace_id not in ("", CARRIER.trace_id)
    assert second.trace_id == CARRIER.trace_id
    assert shop.app.faults.count == 0, "a bad header is foreseen, and no fault of ours"


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """One of the hostile values with some bytes changed, left out or put in."""
    value = draw(st.sampled_from([value for kind in HOSTILE.values() for value in kind if len(value) < 10_000]))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(value)))
        value = value[:at] + draw(st.binary(max_size=3)) + value[at + draw(st.integers(0, 3)) :]
    return value


@pytest.mark.gate
@covers("D01")
def test_any_headers_at_all_change_nothing(anyio_backend: Any) -> None:
    backend, options = anyio_backend
    names = st.sampled_from([b"sw8", b"sw8-correlation", b"sw8-x", b"host", b"x-other"])
    values = st.one_of(st.binary(max_size=64), st.sampled_from([SW8, *FIELDS, b"-", b",", b":"]))
    mixed = st.lists(values, max_size=10).map(b"-".join)

    @settings(max_examples=100, deadline=None)
    @given(st.lists(st.tuples(names, st.one_of(values, mixed, mutated())), max_size=6))
    def holds(headers: list[tuple[bytes, bytes]]) -> None:
        async def compare() -> None:
            finished: list[Segment] = []
            tracer = Tracer("shop", "shop-1", finished.append)
            agent: Any = SimpleNamespace(
                tracer=tracer, watch_loop=int, steps_here=int, config=Config(time_split_every=0)
            )
            middleware = SkyWalkingMiddleware(echo, agent=agent)
            scope = http_scope("/", headers)
            assert await call(middleware, dict(scope)) == await call(echo, dict(scope))
            # a caller that does not sample leaves nothing to record
            is_unsampled = any(name == b"sw8" and value[:1] == b"0" for name, value in headers)
            assert len(finished) in ((0, 1) if is_unsampled else (1,))
            assert middleware.faults.count == 0

        anyio.run(compare, backend=backend, backend_options=options)

    holds()


@pytest.mark.parametrize(
    ("trust", "is_continued"),
    [
        (True, True),
        (False, False),
        (lambda scope: scope["client"][0] == "192.0.2.1", True),
        (lambda scope: scope["client"][0] == "198.51.100.1", False),
    ],
    ids=["always", "never", "this client", "another client"],
)
async def test_trusted_callers(trust: bool | Callable[[Any], bool], is_continued: bool) -> None:
    [segment] = await segments_of(
        answers(), http_scope("/", [(b"sw8", SW8), (b"sw8-correlation", b"dXNlcg==:Nw==")]), trust_incoming=trust
    )
    assert (segment.trace_id == CARRIER.trace_id) is is_continued
    assert bool(segment.spans[0].references) is is_continued


class Awaited:
    """Looks like a function, and is a coroutine function."""

    async def __call__(self, scope: Any) -> bool:
        return False


def raising(scope: Any) -> bool:
    raise KeyError("x-forwarded-for")


@pytest.mark.parametrize("trust", [raising, Awaited()], ids=["raises", "async"])
async def test_a_trust_that_gives_no_answer_trusts_no_caller_and_is_logged_once(
    trust: Callable[[Any], bool], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("swagent.record.trace.tracer._limited", RateLimitedLog())
    async with traced(answers(), trust_incoming=trust) as shop:
        for _ in range(3):
            assert len(await call(shop.app, http_scope("/", [(b"sw8", SW8)]))) == 2
        segments = await shop.segments()
    assert len({segment.trace_id for segment in segments} - {CARRIER.trace_id}) == 3
    assert [record.getMessage().partition(":")[0] for record in caplog.records if record.levelname == "WARNING"] == [
        "trust_incoming failed, and this caller is not trusted"
    ]


@pytest.mark.usefixtures("one_window")
@pytest.mark.parametrize("headers", [[], [(b"sw8", SW8)], [(b"sw8", b"0" + SW8[1:])]], ids=["none", "1", "0"])
async def test_a_caller_that_is_not_trusted_does_not_decide_on_sampling(headers: list[tuple[bytes, bytes]]) -> None:
    """The local sampler does, by each window's first: neither is a trace forced upon us, nor kept from us."""
    scopes = [http_scope("/", headers)] * 5
    assert len(await segments_of(answers(), *scopes, trust_incoming=False, sample_n_per_3_secs=2)) == 2


@pytest.mark.parametrize(("sampled", "recorded"), [(b"0", 0), (b"1", 5)])
async def test_a_trusted_caller_decides_for_the_whole_trace(sampled: bytes, recorded: int) -> None:
    """Or the trace would have a hole here."""
    scope = http_scope("/", [(b"sw8", sampled + SW8[1:])])
    assert len(await segments_of(answers(), *[scope] * 5, sample_n_per_3_secs=2)) == recorded


async def test_the_limits_of_correlation_are_the_configured_ones() -> None:
    seen: list[str | None] = []
    app = doing(lambda: seen.extend(get_correlation(key) for key in "abc"))
    correlation = format_correlation({"a": "1234", "b": "123", "c": "1"}).encode()
    scope = http_scope("/", [(b"sw8", SW8), (b"sw8-correlation", correlation)])
    await segments_of(app, scope, correlation_element_max_number=2, correlation_value_max_length=3)
    assert seen == [None, "123", "1"]


class CountedHeaders(list[tuple[bytes, bytes]]):
    """Counts how often they are gone through."""

    looks = 0

    def __iter__(self) -> Iterator[tuple[bytes, bytes]]:
        self.looks += 1
        return super().__iter__()


async def test_the_headers_of_a_request_with_calls_are_read_once() -> None:
    def ask() -> None:
        for _ in range(3):
            with exit_span("call", "stock:80") as span:
                span.headers()

    headers = CountedHeaders([(b"host", b"shop.test")])
    (segment,) = await segments_of(doing(ask), {**http_scope(), "headers": headers})
    assert len(segment.spans) == 4
    assert headers.looks == 1
