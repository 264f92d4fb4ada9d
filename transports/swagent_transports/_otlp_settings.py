"""The settings that only OTLP has. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from swagent.config import Config
from swagent.config.options import parse_headers


def request_headers(config: Config) -> Mapping[str, str]:
    """The headers that go with each request: a token as a bearer's, and those that the user names."""
    headers = {"authorization": f"Bearer {config.authentication.reveal()}"} if config.authentication else {}
    return {**headers, **parse_headers(config.otlp_headers.reveal())}
