"""Anthropic's client: `request`, which all of its calls come through."""

from __future__ import annotations

from ...instrumentation import Instrumentation
from .llm_call import hook_for

INSTRUMENTATION = Instrumentation(
    name="anthropic",
    module="anthropic._base_client",
    hook=hook_for("Anthropic"),
    versions=">=0.20,<3",
    also=("anthropic._streaming",),
    opentelemetry=("anthropic",),
)
