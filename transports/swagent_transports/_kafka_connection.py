"""aiokafka's connection to one broker, hardened against what the broker sends.

* It buffers whatever length a reply declares; a port where HTTP answers seems to declare 1.2 GB. Here that is capped.
* A login that takes an unexpected turn ends in an error that aiokafka does not expect. Here it is a
  KafkaConnectionError.
* At level DEBUG it logs each request, a password in the clear among them. Here the password hides.
* A broker names the number of rounds in which a SCRAM password is hashed, in a thread that cannot be interrupted and
  that the loop waits for at its end. Here that is capped.
* A request's time runs on while the application holds the loop, and the reply that comes meanwhile is not looked at.
  Here it is, see `_deadline`.
"""
# pyright: reportUnknownMemberType=false, reportUntypedBaseClass=false, reportMissingTypeStubs=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownParameterType=false

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from aiokafka.conn import AIOKafkaConnection, SaslPlainAuthenticator, ScramAuthenticator
from aiokafka.errors import KafkaConnectionError, KafkaError

from ._deadline import wait_done

# Enough for what a cluster of some hundred thousand partitions says about itself.
MAX_REPLY = 16 * 1024 * 1024
# Kafka itself allows 16,384.
MOST_ROUNDS = 100_000


class _Hidden(bytes):
    """Bytes that do not show in a log line."""

    def __repr__(self) -> str:
        return "<hidden>"


class _Plain(SaslPlainAuthenticator):  # type: ignore[misc]  # aiokafka has no types
    async def step(self, payload: bytes | None) -> tuple[bytes, bool] | None:
        # nothing that would need a thread
        found = self._step(payload)
        return found and (_Hidden(found[0]), found[1])


class _Scram(ScramAuthenticator):  # type: ignore[misc]  # aiokafka has no types
    def create_salted_password(self, salt: bytes, iterations: int) -> None:
        if not 0 < iterations <= MOST_ROUNDS:
            raise KafkaConnectionError(f"a SCRAM login of {iterations} rounds")
        super().create_salted_password(salt, iterations)


class _CappedReader:
    """The StreamReader of a connection, as far as the connection needs it."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self.at_eof = reader.at_eof

    async def readexactly(self, size: int) -> bytes:
        """Read so many bytes.

        :raises OSError: when they are more than a reply may have
        """
        if not 0 <= size <= MAX_REPLY:
            raise ConnectionError(f"a reply of {size} bytes; is this a Kafka broker?")
        return await self._reader.readexactly(size)


async def _wait_for(reply: Coroutine[Any, Any, Any], seconds: float) -> Any:
    waiting = asyncio.ensure_future(reply)
    # when we are cancelled, its outcome is not looked at, and asyncio would report that to the application
    waiting.add_done_callback(lambda done: done.cancelled() or done.exception())
    try:
        await wait_done(waiting, seconds)
    except asyncio.CancelledError:
        waiting.cancel()
        raise
    if not waiting.done():
        waiting.cancel()
        raise asyncio.TimeoutError
    return waiting.result()


class Connection(AIOKafkaConnection):  # type: ignore[misc]  # aiokafka has no types
    """A connection whose errors stay inside it, whatever the broker sends."""

    _reader: Any
    _request_timeout: Any

    async def connect(self) -> Any:
        """Connect and log in.

        :raises OSError: when no connection can be made
        :raises asyncio.TimeoutError: when that takes too long
        :raises KafkaError: when the broker does not let us in
        """
        try:
            return await super().connect()
        except (OSError, asyncio.TimeoutError, KafkaError):
            raise
        except Exception as error:
            raise KafkaConnectionError(f"no broker speaks so: {error!r}") from error

    def _create_reader_task(self) -> Any:
        self._reader = _CappedReader(self._reader)
        return super()._create_reader_task()

    def send(self, request: Any, expect_response: bool = True) -> Any:
        """Send a request; awaiting what this returns gives the reply.

        :raises KafkaConnectionError: when the connection is broken
        """
        seconds, self._request_timeout = self._request_timeout, None
        try:
            return _wait_for(super().send(request, expect_response), seconds)
        finally:
            self._request_timeout = seconds

    def authenticator_plain(self) -> _Plain:
        """The authenticator that logs us in with a password."""
        return _Plain(
            loop=self._loop,
            sasl_plain_password=self._sasl_plain_password,
            sasl_plain_username=self._sasl_plain_username,
        )

    def authenticator_scram(self) -> _Scram:
        """The authenticator that logs us in with the proof of a password."""
        return _Scram(
            loop=self._loop,
            sasl_plain_password=self._sasl_plain_password,
            sasl_plain_username=self._sasl_plain_username,
            sasl_mechanism=self._sasl_mechanism,
        )
