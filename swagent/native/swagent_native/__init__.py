"""The accelerator of swagent. Nothing but `swagent.acceleration` imports it, and swagent works without it."""

from ._native import API as API
from ._native import SpanEncoder as SpanEncoder
