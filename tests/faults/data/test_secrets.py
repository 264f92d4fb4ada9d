"""Forty secrets in everything that an application has, and none of them in the bytes that reach the collector.

What is collected on purpose is planted as well, each with a mark of its own, to see that the looking finds things.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from fastapi import FastAPI, Request, WebSocket
from fastapi.responses import JSONResponse

from asgi.calling import SW8, call, websocket_scope
from faults.data.taking import Taker, taker_of
from swagent import Agent, Config, exit_span, get_correlation, local_span
from swagent.asgi import SkyWalkingMiddleware
from swagent.meters import Counter
from swagent.record.meters.registry import MeterRegistry
from swagent.record.trace.carrier import format_correlation

pytestmark = pytest.mark.anyio

_LONG = "x" * 600
_logger = logging.getLogger("shop")


class Secrets:
    """Makes secrets, and remembers them by where they were planted."""

    def __init__(self) -> None:
        self.planted: dict[str, str] = {}
        self.found: dict[str, str] = {}

    def __call__(self, where: str) -> str:
        assert where not in self.planted
        return self.planted.setdefault(where, f"s3cr3t{len(self.planted):02d}hunter")

    def shown(self, where: str) -> str:
        """Values that are collected on purpose."""
        return self.found.setdefault(where, f"sh0wn{len(self.found):02d}kept")

    def found_in(self, data: bytes) -> list[str]:
        return [where for where, secret in self.planted.items() if secret.encode() in data]

    def missing_in(self, data: bytes) -> list[str]:
        return [where for where, text in self.found.items() if text.encode() not in data]


class OrderError(Exception):
    """An exception of the application's."""


def shop(secret: Secrets) -> FastAPI:
    """An application that meets secrets wherever it looks."""
    app = FastAPI()

    @app.post("/reset/{token}/{item}")
    async def reset(token: str, request: Request) -> JSONResponse:
        local = secret("a local variable")
        assert get_correlation("user")
        with exit_span("GET:/stock", peer=f"https://user:{secret('userinfo of a peer')}@stock:443") as span:
            span.headers()
        query = secret("query of a peer")
        with exit_span("GET:/price", peer=f"http://{secret('user of a peer')}@price:80/?key={query}"):
            pass
        with exit_span("SELECT", peer=f"postgres://u:{secret('a password with / and ?')}/?#@db:5432"):
            pass
        _logger.info("not reported: %s", secret("a log record below the level"))
        _logger.warning(
            "reported: %s", secret.shown("an argument of a log record"),
            extra={"password": secret("an extra field"), "anything": secret("another extra field")},
        )  # fmt: skip
        form = await request.form() if "form" in request.headers["content-type"] else await request.json()
        headers = {"set-cookie": f"session={secret('Set-Cookie')}", "x-answer": secret("a header of the answer")}
        return JSONResponse({"form": str(form), "local": local, "answer": secret("the answer's body")}, headers=headers)

    @app.get("/fail/{item}")
    async def fail() -> None:
        local = [secret("a local of a traceback")]
        try:
            raise KeyError(secret("text of the cause"))
        except KeyError as error:
            text = f"{secret.shown('the exception itself')} {_LONG} {secret('exception beyond the cap')}"
            raise OrderError(text, *local[1:]) from error

    @app.websocket("/talk/{name}")
    async def talk(socket: WebSocket) -> None:
        await socket.accept()
        await socket.send_text(await socket.receive_text() + secret("websocket message sent"))
        await socket.close(reason=secret("reason of a close"))

    return app


def _headers(secret: Secrets) -> dict[str, str]:
    correlation = format_correlation({"user": secret("correlation from outside"), secret("its key"): "1"})
    return {
        "authorization": f"Bearer {secret('Authorization')}",
        "proxy-authorization": f"Basic {secret('Proxy-Authorization')}",
        "cookie": f"session={secret('Cookie')}; other={secret('another cookie')}",
        "x-api-key": secret("X-Api-Key"),
        "x-forwarded-for": secret("X-Forwarded-For"),
        "referer": f"https://elsewhere/?token={secret('Referer')}",
        "user-agent": secret("User-Agent"),
        "x-csrf-token": secret("another header"),
        "host": f"user:{secret('userinfo of Host')}@shop.test",
        "sw8-correlation": correlation,
        "sw8-x": secret("sw8-x"),
    }


async def _drive(app: SkyWalkingMiddleware, secret: Secrets) -> None:
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://shop.test") as client:
        path = f"/reset/{secret('a path parameter')}/{secret('another path parameter')}"
        headers = {**_headers(secret), "sw8": SW8.decode()}
        form = {"password": secret("a form field"), secret("a form field's name"): "1"}
        await client.post(f"{path}?token={secret('query')}&{secret('name in a query')}", headers=headers, data=form)
        await client.get(f"/fail/{secret('path parameter of a failing request')}?q={secret('its query')}")
        await client.put(f"/reset/a/{secret('path parameter of the wrong method')}", content=secret("a body unread"))
    scope = websocket_scope(f"/talk/{secret('path parameter of a websocket')}",
                            [(b"sec-websocket-protocol", secret("a subprotocol").encode())])  # fmt: skip
    scope["query_string"] = f"token={secret('query of a websocket')}".encode()
    heard = {"type": "websocket.receive", "text": secret("websocket message received")}
    await call(app, scope, {"type": "websocket.connect"}, heard)


def _work(secret: Secrets) -> None:
    """Work that has nothing to do with requests."""
    with local_span("work") as span:
        span.tag("shown", secret.shown("a tag"))
    try:
        raise ValueError(secret.shown("exception of a log record"), _LONG, secret("exception of a log record, end"))
    except ValueError:
        _logger.exception("failed with %s", secret.shown("message of a log record"))
    Counter("orders", registry=MeterRegistry()).labels(user=secret("a meter that is not reported")).increment()


@pytest.fixture
def secret() -> Secrets:
    return Secrets()


@pytest.fixture
def settings(secret: Secrets, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Of the environment what is in there anyway, of the configuration all that is secret."""
    monkeypatch.setenv("DATABASE_URL", f"postgres://u:{secret('the environment')}@db/shop")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", secret("another variable"))
    monkeypatch.setattr("sys.argv", ["shop", f"--password={secret('the command line')}"])
    return {
        "service": "shop",
        "instance": "one",
        "kafka_sasl_plain_password": secret("Kafka's password"),
        "heartbeat_period": 0.2,
    }


@asynccontextmanager
async def _running(transport: str, settings: dict[str, Any]) -> AsyncIterator[tuple[Taker, Agent]]:
    """An agent that reports to a collector that keeps every byte."""
    with taker_of(transport) as taker:
        async with Agent(Config(**settings, **taker.settings)) as agent:
            yield taker, agent


@pytest.mark.parametrize("transport", ["grpc", "http", "kafka"])
async def test_no_secret_of_an_application_reaches_the_collector(
    transport: str, secret: Secrets, settings: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    async with _running(transport, settings) as (taker, agent):
        await _drive(SkyWalkingMiddleware(shop(secret), agent=agent), secret)
        _work(secret)
        assert await agent.flush(10)
        shown = repr((agent, agent.config, str(agent.statistics())))
    heard = taker.heard()
    assert len(secret.planted) >= 40
    assert not secret.found_in(heard)
    assert not secret.missing_in(heard), "this is collected, and so is looked for"
    # nor does the agent show any of them in its own words
    said = "\n".join(record.getMessage() for record in caplog.records if record.name.startswith("swagent"))
    assert not secret.found_in((shown + said).encode())
