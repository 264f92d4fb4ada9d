"""The HTTP transport keeps the promises of every transport."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

import pytest

from kit import http_answers as answers
from kit.http_peer import Behaviour, HttpPeer
from swagent.config import Config
from swagent.signals import Signal
from swagent.testing import check_transport
from swagent_transports.http import HttpTransport

pytestmark = pytest.mark.anyio


class ScriptedPeer:
    """An HTTP/1.1 server, in each of the states that `check_transport` asks for."""

    def __init__(self, http: HttpPeer) -> None:
        self._http = http
        self._is_listening = True

    def connect(self) -> HttpTransport:
        config = Config(service="checked", collector=self._http.address, request_timeout=1.0)
        return HttpTransport(config, config.addresses[0])

    async def serve(self) -> None:
        await self._behave(answers.confirm)

    async def refuse(self) -> None:
        await self._behave(answers.status(400))

    async def hang(self) -> None:
        await self._behave(answers.silent)

    async def vanish(self) -> None:
        self._is_listening = False
        await self._http.thread.call(self._http.stop)

    async def received(self, signal: Signal) -> Sequence[bytes]:
        assert signal is Signal.SEGMENT
        return self._http.records()

    async def _behave(self, behaviour: Behaviour) -> None:
        self._http.behave = behaviour
        if not self._is_listening:
            self._is_listening = True
            await self._http.thread.call(self._http.start)


@pytest.fixture
def peer() -> Iterator[ScriptedPeer]:
    with HttpPeer(answers.confirm) as http:
        yield ScriptedPeer(http)


def sample(number: int) -> bytes:
    return b'{"traceId":"%d","service":"checked"}' % number


async def run_here(function: Callable[..., Awaitable[None]], *args: Any) -> None:
    await function(*args)


async def test_contract(peer: ScriptedPeer) -> None:
    await check_transport(peer, sample, run_here)
