"""The span of a call to a large language model, the same for the clients that one generator makes (openai, anthropic).

It says which model was asked and which one answered, how many tokens went in and came out, what the call cost where
the answer says so, and after how many milliseconds the first token came. It says nothing of prompts and answers, nor
what an error's message says, which may quote them. A stream belongs to its call: the span ends when the stream does, or
when it is closed.

Since 10.4 SkyWalking makes its metrics of models from spans of the layer GenAI that name the model which answered.
Where none did, such as in a failure, that is the model which was asked: the failure would not count otherwise.

Most often the service is another company's, so the trace's context goes only to hosts that `propagate_to` names, and to
those on the application's own network: a gateway such as LiteLLM, or a server of models such as vLLM and Ollama.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import Any, cast

from ....record.foreign import class_name
from ....record.limits import as_text, name_of, short
from ....record.trace.model import Component, Layer
from ....record.trace.outcome import Outcome, outcome_of
from ....record.trace.span import Span
from ...arguments import Args, Kwargs
from ...call import begin_call, error_since, handled_error, safely
from ...instrumentation import Hook
from ...looking import at_end_of_call
from ...patches import Patches
from ...wrapping import around_call
from ..http.http_call import peer_of, template_of

_READING = "_swagent_reading"
_ASKED, _ANSWERED = "gen_ai.request.model", "gen_ai.response.model"
_INPUT = ("input_tokens", "prompt_tokens")
_OUTPUT = ("output_tokens", "completion_tokens")


class ForeignSpan(Span):
    """The span of a call to a service of another company, which need not know of the trace."""

    __slots__ = ()

    def headers_for(self, peer: str) -> dict[str, str]:
        segment = self.segment
        if segment is None or not segment.tracer.propagates_to_foreign(peer):
            return {}
        return super().headers_for(peer)


def hook_for(system: str) -> Hook:
    """The hook for a client.

    :param system: its name for people, such as `OpenAI`
    """

    def hook(module: Any, patches: Patches) -> None:
        if module.__name__.endswith("._streaming"):
            patches.wrap(module.Stream, "close", at_end_of_call(_closed))
            patches.wrap(module.AsyncStream, "close", at_end_of_call(_closed))
            return
        recording = around_call(partial(_begin, system), partial(_answered, module), _failed)
        patches.wrap(module.SyncAPIClient, "request", recording)
        patches.wrap(module.AsyncAPIClient, "request", recording)

    return hook


def _begin(system: str, client: Any, args: Args, kwargs: Kwargs) -> Span | None:
    options: Any = kwargs["options"] if "options" in kwargs else args[1]
    tags = [("gen_ai.provider.name", system.lower())]
    model = _asked_model(options.json_data)
    if model:
        tags.append((_ASKED, short(model)))
    url = client.base_url
    path = template_of(f"/{options.url.partition('?')[0].lstrip('/')}")
    peer = peer_of(url.scheme, url.host, url.port)
    return begin_call(name_of(f"{system}{path}"), peer, Layer.GEN_AI, Component.HTTPX, tuple(tags), ForeignSpan)


def _asked_model(body: object) -> str:
    fields = cast("dict[str, object]", body) if isinstance(body, dict) else {}
    return as_text(fields.get("model", ""))


def _answered(module: Any, span: Span, result: Any, *_: object) -> None:
    is_async = isinstance(result, module.AsyncStream)
    if not is_async and not isinstance(result, module.Stream):
        reading = _Reading(span)
        reading.note_facts(result)
        reading.end(None)
        return
    span.step_aside()
    reading = _Reading(span)
    setattr(result, _READING, reading)
    follow: Any = reading.follow_async if is_async else reading.follow
    result._iterator = follow(result._iterator)  # noqa: SLF001  (what all the ways to read it come through)


class _Reading:
    """The facts that are learned of a call while its answer is read."""

    def __init__(self, span: Span) -> None:
        self._span = span
        self._facts: dict[str, object] = {}
        self._has_token = False
        self.before = handled_error()

    def follow(self, events: Iterator[Any]) -> Iterator[Any]:
        """The events of a stream, which ends the span when it does."""
        try:
            for event in events:
                safely(self.note, event)
                yield event
        except BaseException as error:
            safely(self.end, error)
            raise
        safely(self.end, None)

    async def follow_async(self, events: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """As `follow`."""
        try:
            async for event in events:
                safely(self.note, event)
                yield event
        except BaseException as error:
            safely(self.end, error)
            raise
        safely(self.end, None)

    def note(self, event: Any) -> None:
        """Learn from an event of a stream."""
        if not self._has_token and _has_token(event):
            self._has_token = True
            span = self._span
            span.tag("gen_ai.server.time_to_first_token", round((span.now() - span.start_time) * 1000))
        self.note_facts(event)
        fields = _fields(event)
        # the events of the answer as a whole, at the beginning or at the end
        for name in ("message", "response"):
            if fields.get(name) is not None:
                self.note_facts(fields[name])

    def note_facts(self, answer: Any) -> None:
        """Learn which model it is, and how many tokens."""
        fields = _fields(answer)
        if isinstance(fields.get("model"), str):
            self._facts[_ANSWERED] = fields["model"]
        used = _fields(fields.get("usage"))
        for fact, names in (("gen_ai.usage.input_tokens", _INPUT), ("gen_ai.usage.output_tokens", _OUTPUT)):
            for name in names:
                if isinstance(used.get(name), int):
                    self._facts[fact] = used[name]
        # some of those that speak OpenAI's protocol say it
        if isinstance(used.get("cost"), (int, float)):
            self._facts["gen_ai.usage.cost"] = used["cost"]

    def end(self, error: BaseException | None) -> None:
        """Say what was learned, and end the span."""
        for name, value in self._facts.items():
            self._span.tag(name, value)
        self._facts.clear()
        if error is None:
            _name_model(self._span)
            self._span.stop()
        else:
            _failed(self._span, error)


def _name_model(span: Span) -> None:
    """Let the model that was asked count where the answer names none."""
    models = {key: value for key, value in span.tags if key in (_ASKED, _ANSWERED)}
    if _ASKED in models and _ANSWERED not in models:
        span.tag(_ANSWERED, models[_ASKED])


def _has_token(event: Any) -> bool:
    fields = _fields(event)
    kind = fields.get("type")
    if isinstance(kind, str):
        return kind.endswith("delta")
    for choice in fields.get("choices") or ():
        chosen = _fields(choice)
        delta = _fields(chosen.get("delta"))
        if chosen.get("text") or any(value for name, value in delta.items() if name != "role"):
            return True
    return False


def _fields(model: object) -> dict[str, Any]:
    """A model's fields, without asking it for those that it does not have, which takes long."""
    if isinstance(model, dict):
        return cast("dict[str, Any]", model)
    found: dict[str, Any] = getattr(model, "__dict__", {})
    # those that a server knows, and this version of the client does not
    more = getattr(model, "__pydantic_extra__", None)
    return {**found, **more} if more else found


def _failed(span: Span, error: BaseException) -> None:
    _name_model(span)
    outcome = outcome_of(error)
    if outcome is Outcome.FAILED:
        status = _fields(error).get("status_code")
        if isinstance(status, int):
            span.tag("http.status_code", status)
        span.error()
        span.log(**{"event": "error", "error.kind": f"{type(error).__module__}.{class_name(error)}"})
    elif outcome is not Outcome.OK:
        span.tag_outcome(outcome)
    span.stop()


def _closed(stream: Any) -> None:
    """The error that breaks a stream off is the exception that is being handled when the stream is closed."""
    reading: _Reading | None = _fields(stream).get(_READING)
    if reading is not None:
        reading.end(error_since(reading.before))
