"""OpenAI's client, and whatever speaks its protocol: `request`, which all of its calls come through."""

from __future__ import annotations

from ...instrumentation import Instrumentation
from .llm_call import hook_for

INSTRUMENTATION = Instrumentation(
    name="openai",
    module="openai._base_client",
    hook=hook_for("OpenAI"),
    versions=">=1.6,<4",
    also=("openai._streaming",),
    opentelemetry=("openai", "openai_v2"),
)
