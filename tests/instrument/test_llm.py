"""OpenAI's and Anthropic's clients: one span for a call, a streamed one too, and nothing of what is said."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import anyio
import httpx
import pytest

from record.recorded import Recorder, recording
from swagent import exit_span, local_span
from swagent.instrument import instrument, uninstrument
from swagent.record.trace.model import SpanRecord

from .http_peer import HttpPeer, http_peer
from .llm_peer import SECRET, Provider
from .trees import trees

openai = pytest.importorskip("openai")
anthropic = pytest.importorskip("anthropic")

INSTRUMENTED = ("anthropic", "openai")
AGAINST = "a fake: an HTTP server of the tests that answers as theirs"
NEEDS = ("httpx<0.28",)
OPENAI = "gen_ai.provider.name=openai gen_ai.request.model=gpt-17"
ANTHROPIC = "gen_ai.provider.name=anthropic gen_ai.request.model=claude-17"


def collected_by(span: SpanRecord) -> str:
    return span.name.partition("/")[0].lower()


@pytest.fixture
def provider() -> Iterator[Provider]:
    provider = Provider()
    yield provider
    provider.may_go_on.set()


@pytest.fixture
def peer(provider: Provider) -> Iterator[HttpPeer]:
    with http_peer(provider.answer) as peer:
        yield peer


@pytest.fixture
def chats(peer: HttpPeer) -> Iterator[Any]:
    with openai.OpenAI(base_url=f"{peer.url}/v1", api_key=SECRET, max_retries=0) as client:
        yield client


@pytest.fixture
def messages(peer: HttpPeer) -> Iterator[Any]:
    with anthropic.Anthropic(base_url=peer.url, api_key=SECRET, max_retries=0) as client:
        yield client


def asked(**others: Any) -> dict[str, Any]:
    return {"model": "gpt-17", "messages": [{"role": "user", "content": SECRET}], **others}


def asked_claude(**others: Any) -> dict[str, Any]:
    return {**asked(max_tokens=17), "model": "claude-17", **others}


def drawn(recorder: Recorder, peer: HttpPeer) -> list[str]:
    """The trees, without what is never the same; and no secret is anywhere in the record."""
    kept = [(span.name, span.peer, span.tags, span.logs) for each in recorder.segments for span in each.spans]
    assert SECRET not in repr(kept)
    text = trees(recorder).replace(peer.address, "llm:443")
    return re.sub(r"first_token=\d+", "first_token=…", text).splitlines()


def test_a_call_is_one_span(recorder: Recorder, chats: Any, messages: Any, peer: HttpPeer) -> None:
    with local_span("job"):
        assert chats.chat.completions.create(**asked()).choices[0].message.content == SECRET
        chats.embeddings.create(model="embed", input=SECRET, encoding_format="float")
        assert messages.messages.create(**asked_claude()).content[0].text == SECRET
        chats.chat.completions.create(**asked(model="priced"))
    tokens = "gen_ai.usage.input_tokens=11 gen_ai.usage.output_tokens=7"
    assert drawn(recorder, peer) == [
        "Local job",
        f"  Exit OpenAI/chat/completions HTTPX/GEN_AI llm:443 {OPENAI} gen_ai.response.model=gpt-17-2026 {tokens}",
        "  Exit OpenAI/embeddings HTTPX/GEN_AI llm:443 gen_ai.provider.name=openai gen_ai.request.model=embed "
        "gen_ai.response.model=embed-17 gen_ai.usage.input_tokens=5",
        f"  Exit Anthropic/v1/messages HTTPX/GEN_AI llm:443 {ANTHROPIC} gen_ai.response.model=claude-17-2026 {tokens}",
        "  Exit OpenAI/chat/completions HTTPX/GEN_AI llm:443 gen_ai.provider.name=openai gen_ai.request.model=priced "
        f"gen_ai.response.model=gpt-17-2026 {tokens} gen_ai.usage.cost=0.0042",
    ]


def _streamed(name: str, asked: str, model: str) -> str:
    found = f"gen_ai.server.time_to_first_token=… gen_ai.response.model={model}"
    return (
        f"  Exit {name} HTTPX/GEN_AI llm:443 {asked} {found} gen_ai.usage.input_tokens=11 gen_ai.usage.output_tokens=7"
    )


STREAMED = [
    "Local job",
    "  Local work",
    _streamed("OpenAI/chat/completions", OPENAI, "gpt-17-2026"),
    _streamed("Anthropic/v1/messages", ANTHROPIC, "claude-17-2026"),
]


def test_a_stream_belongs_to_its_call_and_what_is_done_meanwhile_does_not(
    recorder: Recorder, chats: Any, messages: Any, peer: HttpPeer
) -> None:
    with local_span("job"):
        chunks = chats.chat.completions.create(**asked(stream=True))
        events = messages.messages.create(**asked_claude(stream=True))
        with local_span("work"):
            assert len(list(chunks)) == 4
            assert len(list(events)) == 7
    assert sorted(drawn(recorder, peer)) == sorted(STREAMED)
    work = recorder.span("work")
    assert all(span.end_time <= work.end_time for span in recorder.only.spans if span.name not in ("job", "work"))


@pytest.mark.anyio
# openai leaves a generator of its own to the garbage collector, of which trio warns
@pytest.mark.filterwarnings("ignore:Async generator 'openai", "ignore::pytest.PytestUnraisableExceptionWarning")
async def test_a_call_and_a_stream_of_the_async_clients_too(recorder: Recorder, peer: HttpPeer) -> None:
    async with (
        openai.AsyncOpenAI(base_url=peer.url, api_key=SECRET) as chats,
        anthropic.AsyncAnthropic(base_url=peer.url, api_key=SECRET) as messages,
    ):
        await chats.chat.completions.create(**asked())
        await messages.messages.create(**asked_claude())
        assert recorder.names == [["OpenAI/chat/completions"], ["Anthropic/v1/messages"]]
        assert [dict(each.spans[0].tags)["gen_ai.usage.output_tokens"] for each in recorder.segments] == ["7", "7"]
        recorder.segments.clear()
        with local_span("job"):
            chunks = await chats.chat.completions.create(**asked(stream=True))
            events = await messages.messages.create(**asked_claude(stream=True))
            with local_span("work"):
                assert len([each async for each in chunks]) == 4
                assert len([each async for each in events]) == 7
    assert sorted(drawn(recorder, peer)) == sorted(STREAMED)


def test_a_message_that_a_manager_streams_too(recorder: Recorder, messages: Any) -> None:
    with messages.messages.stream(**asked_claude()) as stream:
        assert "".join(stream.text_stream) == 2 * SECRET
    assert dict(recorder.span("Anthropic/v1/messages").tags)["gen_ai.usage.output_tokens"] == "7"


@pytest.mark.anyio
async def test_a_stream_that_is_left_ends_and_did_not_fail(
    recorder: Recorder, chats: Any, provider: Provider, peer: HttpPeer
) -> None:
    provider.may_go_on.clear()
    try:
        raise RuntimeError("the first model is busy")
    except RuntimeError:
        with chats.chat.completions.create(**asked(stream=True)) as chunks:
            next(iter(chunks))
    async with openai.AsyncOpenAI(base_url=peer.url, api_key=SECRET) as client:
        async_chunks = await client.chat.completions.create(**asked(stream=True))
        await async_chunks.__anext__()
        await async_chunks.close()
    assert [segment.spans[0].failed for segment in recorder.segments] == [False, False]


def test_a_stream_that_is_broken_off_by_an_error_failed(recorder: Recorder, chats: Any, provider: Provider) -> None:
    provider.may_go_on.clear()
    with pytest.raises(RuntimeError), chats.chat.completions.create(**asked(stream=True)):
        raise RuntimeError("enough")
    assert recorder.span("OpenAI/chat/completions").failed


@pytest.mark.anyio
async def test_a_stream_that_is_no_longer_awaited_was_cancelled(
    recorder: Recorder, provider: Provider, peer: HttpPeer
) -> None:
    provider.may_go_on.clear()
    async with openai.AsyncOpenAI(base_url=peer.url, api_key=SECRET) as client:
        with anyio.CancelScope() as scope:
            chunks = await client.chat.completions.create(**asked(stream=True))
            async with chunks:
                await chunks.__anext__()
                scope.cancel()
                async for _ in chunks:
                    pass
    span = recorder.span("OpenAI/chat/completions")
    assert dict(span.tags)["outcome"] == "cancelled"
    assert not span.failed


def test_a_failure_shows_without_what_it_quotes(recorder: Recorder, chats: Any, messages: Any, peer: HttpPeer) -> None:
    with pytest.raises(openai.NotFoundError):
        chats.chat.completions.create(**asked(model="none"))
    with pytest.raises(anthropic.NotFoundError):
        messages.messages.create(**asked_claude(model="none"))
    end = "gen_ai.request.model=none gen_ai.response.model=none http.status_code=404 FAILED"
    assert [line[-len(end) :] for line in drawn(recorder, peer)] == [end, end]
    kinds = [dict(segment.spans[0].logs[0][1])["error.kind"] for segment in recorder.segments]
    assert kinds == ["openai.NotFoundError", "anthropic.NotFoundError"]


def _over_httpx(peer: HttpPeer) -> Any:
    """A client over the library whose requests carry the context."""
    return openai.OpenAI(base_url=peer.url, api_key=SECRET, http_client=httpx.Client())


@pytest.mark.parametrize(("hosts", "is_sent"), [([], True), (["other.test"], False), (["127.0.0.1"], True)])
def test_a_gateway_on_the_own_network_gets_the_trace(hosts: list[str], is_sent: bool, peer: HttpPeer) -> None:
    instrument("httpx")
    try:
        with recording(propagate_to=hosts) as recorder, _over_httpx(peer) as client, local_span("job"):
            client.chat.completions.create(**asked())
    finally:
        uninstrument("httpx")
    assert recorder.names == [["job", "OpenAI/chat/completions"]]
    assert ["sw8" in request.headers for request in peer.requests] == [is_sent]


def test_a_call_inside_a_call_has_no_span_of_its_own(recorder: Recorder, chats: Any) -> None:
    with exit_span("by hand", "llm:443"):
        chats.chat.completions.create(**asked())
        assert len(list(chats.chat.completions.create(**asked(stream=True)))) == 4
    assert recorder.names == [["by hand"]]
