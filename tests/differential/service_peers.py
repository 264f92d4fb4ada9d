"""Web services that some libraries are clients of: a search engine, and two providers of language models."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any

from differential.web_peer import Handler, web_peer

_CHUNK = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-17-2026"}
_MESSAGE = {"id": "1", "type": "message", "role": "assistant", "model": "claude-17-2026", "stop_reason": None}


class Search(Handler):
    """An index of one document."""

    def answer(self) -> None:
        body = self._read()
        status, said = (
            200,
            {"_id": "17", "found": True, "hits": {"hits": [{"_id": "17"}]}, "sent": body.decode("latin-1")},
        )
        if self.path.startswith("/missing"):
            status, said = 404, {"error": "index_not_found_exception", "status": 404}
        elif self.path.startswith("/busy"):
            status, said = 503, {"error": "unavailable", "status": 503}
        headers = {"content_type": "application/json", "x_elastic_product": "Elasticsearch"}
        self.send(status, json.dumps(said).encode(), **headers)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = answer  # noqa: N815


class Provider(Handler):
    """Answers as OpenAI and Anthropic do."""

    def answer(self) -> None:
        body = self._read()
        asked: dict[str, Any] = json.loads(body) if body else {}
        is_openai = not self.path.startswith("/v1/messages")
        if asked.get("model") == "none":
            error = {"error": {"message": "no such model", "type": "not_found_error"}}
            self.send(404, json.dumps(error).encode(), content_type="application/json")
        elif asked.get("stream"):
            events = b"".join(_chat_events() if is_openai else _message_events())
            self.send(200, events, content_type="text/event-stream")
        else:
            self.send(200, json.dumps(_said(self.path, is_openai)).encode(), content_type="application/json")

    do_GET = do_POST = answer  # noqa: N815


def _said(path: str, is_openai: bool) -> dict[str, Any]:
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    if path.endswith("/embeddings"):
        return {"object": "list", "model": "embed-17", "data": [], "usage": usage}
    if is_openai:
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "hi"}}
        return {**_CHUNK, "object": "chat.completion", "choices": [choice], "usage": usage}
    return {**_MESSAGE, "content": [{"type": "text", "text": "hi"}], "usage": {"input_tokens": 11, "output_tokens": 7}}


def _chat_events() -> Iterator[bytes]:
    for content in ("", "h", "i"):
        choices = [{"index": 0, "delta": {"role": "assistant", "content": content}, "finish_reason": None}]
        yield b"data: %s\n\n" % json.dumps({**_CHUNK, "choices": choices}).encode()
    yield b"data: [DONE]\n\n"


def _message_events() -> Iterator[bytes]:
    started: dict[str, Any] = {**_MESSAGE, "content": [], "usage": {"input_tokens": 11, "output_tokens": 1}}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": started},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hi"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 7}},
        {"type": "message_stop"},
    ]
    for event in events:
        yield b"event: %s\ndata: %s\n\n" % (event["type"].encode(), json.dumps(event).encode())


def search_peer() -> AbstractContextManager[Mapping[str, str]]:
    """A search engine."""
    return web_peer(Search)


def provider_peer() -> AbstractContextManager[Mapping[str, str]]:
    """Both providers."""
    return web_peer(Provider)
