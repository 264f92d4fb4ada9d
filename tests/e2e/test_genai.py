"""Calls of language models, as an OAP shows them that has the layer `GenAI`: the provider and its models are services
of their own. The released OAP of these tests has none."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from functools import partial
from typing import Any

import openai
import pytest

from e2e.graphql import OapQuery, eventually
from instrument.http_peer import HttpPeer, http_peer
from instrument.llm_peer import SECRET, Provider
from kit.real.built_oap import FOLDER
from kit.real.oap import Oap
from swagent import Agent, Config, local_span
from swagent.instrument import instrument, uninstrument

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(FOLDER not in os.environ, reason=f"{FOLDER} names an OAP that has the layer GenAI"),
]
LAYER = "VIRTUAL_GENAI"
MODEL = "gpt-4o"
"""One whose prices are known there."""
WHOLE, STREAMED = 5, 3
_ASKED: Any = [{"role": "user", "content": SECRET}]


@pytest.fixture
def peer() -> Iterator[HttpPeer]:
    with http_peer(Provider(MODEL).answer) as peer:
        yield peer


@pytest.fixture(autouse=True)
def instrumented() -> Iterator[None]:
    instrument("openai")
    yield
    uninstrument("openai")


async def _ask(peer: HttpPeer) -> None:
    async with openai.AsyncOpenAI(base_url=f"{peer.url}/v1", api_key=SECRET, max_retries=0) as client:
        with local_span("chats"):
            for _ in range(WHOLE):
                await client.chat.completions.create(model=MODEL, messages=_ASKED)
            for _ in range(STREAMED):
                stream = await client.chat.completions.create(model=MODEL, messages=_ASKED, stream=True)
                async for _ in stream:
                    pass
            with pytest.raises(openai.NotFoundError):
                await client.chat.completions.create(model="none", messages=_ASKED)


async def test_the_oap_counts_calls_tokens_and_costs_of_a_provider_and_its_models(
    oap: Oap, query: OapQuery, peer: HttpPeer
) -> None:
    service = f"chats-{uuid.uuid4().hex[:6]}"
    async with Agent(Config(service=service, collector=oap.grpc_address)):
        await _ask(peer)
    await eventually(lambda: query.services(LAYER), until=lambda found: "openai" in {each.name for each in found})
    calls, tokens = WHOLE + STREAMED, 11 * (WHOLE + STREAMED)
    # the one that failed has no tokens, and its model did not answer
    await _shows(query, None, "gen_ai_provider_cpm", calls + 1)
    await _shows(query, None, "gen_ai_provider_input_tokens_sum", tokens)
    await _shows(query, MODEL, "gen_ai_model_call_cpm", calls)
    await _shows(query, MODEL, "gen_ai_model_output_tokens_sum", 7 * calls)
    for name in ("gen_ai_model_ttft_avg", "gen_ai_model_total_estimated_cost", "gen_ai_model_latency_avg"):
        assert await query.meter(name, "openai", MODEL, is_normal=False), name


async def _shows(query: OapQuery, model: str | None, name: str, value: float) -> None:
    found = partial(query.meter, name, "openai", model, is_normal=False)
    await eventually(found, until=lambda each: each == value)
