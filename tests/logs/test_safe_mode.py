"""Safe mode: forty secrets in every place that a record has, and none of them in what is reported."""

from __future__ import annotations

import logging
import time

import pytest

from swagent.record.logs.mask import mask

from .captured import Captured, capturing

_SHAPES = [
    "https://user:{}@host/path", "postgres://{}@host", "redis://:{}@host:6379/0", "amqp://u:{}%40@host//vhost",
    "mongodb://u:{}@a,b:{}@c/db", "see http://u:p@{}@host now", "mysql://u:a/{}@host", "'ftp://u:{}@host'",
    "password={}", "PASSWORD={}", "passwd={}", "pwd={}&x=1", "?a=b&token={}&c=d", "access_token={}", "refresh-token={}",
    "client_secret={};x", "api_key={}", "apikey={}", "X-Api-Key: {}", "api-key={}", "AWS_SECRET_ACCESS_KEY={}",
    "access_key={}", "private_key={}", "passphrase={}", "signature={}", "X-Amz-Signature={}", "sessionid={}",
    "session_id={}", "Cookie: {}", "Set-Cookie: {}", "Authorization: {}", "Authorization: Bearer {}",
    "authorization: Basic {}", "{{'password': '{}'}}", '{{"token": "{}"}}', '{{"secret":"{} with blanks"}}',
    "password = '{}'", "password: {}", "credentials={}", 'token="{}"', 'token="{}', "User(name='a', password='{}')",
]  # fmt: skip
_TEXTS = [(shape, f"canary{number}hunter2") for number, shape in enumerate(_SHAPES)]


@pytest.mark.parametrize(("shape", "secret"), _TEXTS)
def test_a_credential_is_masked(shape: str, secret: str) -> None:
    masked = mask(f"before {shape.replace('{}', secret)} after".replace("{{", "{").replace("}}", "}"))
    assert secret not in masked
    assert "***" in masked
    assert masked.startswith("before ")
    assert masked.endswith(" after") or shape == 'token="{}'


@pytest.mark.parametrize(
    "text",
    ["plain", "a@b.example", "https://host/path?x=1", "https://host/@user wrote", "12:30:01", "the token expired",
     "password", "a = b", "://@host", "", "key: value"],
)  # fmt: skip
def test_a_value_that_is_no_credential_stays(text: str) -> None:
    assert mask(text) == text or "@user" in text


def test_the_rest_of_a_text_stays() -> None:
    assert mask("GET https://u:p@host/a?token=t&b=1 took 3 ms") == "GET https://***@host/a?token=***&b=1 took 3 ms"


@pytest.mark.parametrize("formatted", [True, False])
def test_no_secret_leaves_by_text_argument_or_exception(logger: logging.Logger, formatted: bool) -> None:
    with capturing(safe_mode=True, formatted=formatted) as captured:
        for shape, secret in _TEXTS:
            text = shape.replace("{}", secret)
            logger.warning(text)
            logger.warning("see %s", text)
            logger.warning("see %(it)s", {"it": text})
            try:
                try:
                    raise ValueError(text)
                except ValueError as error:
                    raise KeyError("outer", text) from error
            except KeyError:
                logger.exception("failed")
    assert len(captured.entries) == 4 * len(_TEXTS)
    assert "hunter2" not in repr(captured.entries)


def test_without_safe_mode_nothing_is_masked(captured: Captured, logger: logging.Logger) -> None:
    logger.warning("password=%s", "hunter2")
    assert captured.texts == ["password=hunter2"]


@pytest.mark.gate
def test_a_secret_at_the_cut_is_not_left_half(logger: logging.Logger) -> None:
    with capturing(safe_mode=True) as captured:
        for length in range(32 * 1024 - 60, 32 * 1024 + 10):
            logger.warning("%s https://user:hunter2@host", "a" * length)
    assert "hun" not in repr(captured.entries)


@pytest.mark.parametrize(
    "piece", ["://", "://a@", "token=", 'token="', "token='", "token" + " " * 50, "password: bearer "]
)
def test_masking_takes_time_that_grows_with_the_text_only(piece: str) -> None:
    text = "@" + piece * (200_000 // len(piece))
    began = time.thread_time()
    mask(text)
    assert time.thread_time() - began < 2.0
