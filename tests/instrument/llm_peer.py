"""A provider of language models for tests, which answers OpenAI's client and Anthropic's."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

from .http_peer import Answer, Request

SECRET = "a secret"
_CHUNK = {"id": "1", "object": "chat.completion.chunk", "created": 1}
_MESSAGE = {"id": "1", "type": "message", "role": "assistant", "model": "claude-17-2026", "stop_reason": None}


class Provider:
    """Answers as both of them do.

    :ivar may_go_on: cleared: streams wait after two events
    """

    def __init__(self, model: str = "gpt-17-2026") -> None:
        """:param model: the one that answers for OpenAI, whichever is asked for"""
        self._chat_chunk = {**_CHUNK, "model": model}
        self.may_go_on = threading.Event()
        self.may_go_on.set()

    def answer(self, request: Request) -> Answer:
        asked = json.loads(request.body) if request.body else {}
        is_openai = not request.path.startswith("/v1/messages")
        if asked.get("model") == "none":
            return Answer(404, {"error": {"message": f"no model for {SECRET}", "type": "not_found_error"}}, _JSON)
        if request.path.endswith("/embeddings"):
            usage = {"prompt_tokens": 5, "total_tokens": 5}
            return Answer(200, {"object": "list", "model": "embed-17", "data": [], "usage": usage}, _JSON)
        if asked.get("stream"):
            return Answer(200, self._stream(is_openai), (("content-type", "text/event-stream"),))
        if asked.get("model") == "priced":
            return Answer(200, _priced(self._chat()), _JSON)
        return Answer(200, self._chat() if is_openai else _message(), _JSON)

    def _stream(self, is_openai: bool) -> Iterator[bytes]:
        events = self._chat_events() if is_openai else _message_events()
        yield next(events)
        yield next(events)
        self.may_go_on.wait(30)
        yield from events

    def _chat(self) -> dict[str, Any]:
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": SECRET}}
        usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
        return {**self._chat_chunk, "object": "chat.completion", "choices": [choice], "usage": usage}

    def _chat_events(self) -> Iterator[bytes]:
        for content in ("", SECRET, SECRET):
            choices = [{"index": 0, "delta": {"role": "assistant", "content": content}, "finish_reason": None}]
            yield b"data: %s\n\n" % json.dumps({**self._chat_chunk, "choices": choices}).encode()
        usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
        yield b"data: %s\n\n" % json.dumps({**self._chat_chunk, "choices": [], "usage": usage}).encode()
        yield b"data: [DONE]\n\n"


_JSON = (("content-type", "application/json"),)


def _priced(chat: dict[str, Any]) -> dict[str, Any]:
    return {**chat, "usage": {**chat["usage"], "cost": 0.0042}}


def _message() -> dict[str, Any]:
    content = [{"type": "text", "text": SECRET}]
    return {**_MESSAGE, "content": content, "usage": {"input_tokens": 11, "output_tokens": 7}}


def _message_events() -> Iterator[bytes]:
    started: dict[str, Any] = {**_MESSAGE, "content": [], "usage": {"input_tokens": 11, "output_tokens": 1}}
    text = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": SECRET}}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": started},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        text,
        text,
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 7}},
        {"type": "message_stop"},
    ]
    for event in events:
        yield b"event: %s\ndata: %s\n\n" % (event["type"].encode(), json.dumps(event).encode())
