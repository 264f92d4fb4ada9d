"""The services of OTLP, as grpclib's server takes them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio.to_thread
from grpclib.const import Cardinality, Handler, Status
from grpclib.exceptions import GRPCError

from ...store.database import StoreError
from ...store.wire_pieces import SMALL
from ..message_reader import MessageReader
from ..room import MAX_BODY, Hold, NoRoomError, Room
from .inflating import TooLargeInsideError, inflate
from .taking import OtlpIntake
from .wire import KINDS, from_protobuf


class OtlpService:
    """The service of one signal."""

    def __init__(self, signal: str, intake: OtlpIntake, room: Room) -> None:
        self._signal = signal
        self._intake = intake
        self._room = room

    def __mapping__(self) -> dict[str, Handler]:
        path = f"/opentelemetry.proto.collector.{KINDS[self._signal].service}/Export"
        return {path: Handler(self._calls(), Cardinality.UNARY_UNARY, bytes, bytes)}

    def _calls(self) -> Callable[[Any], Awaitable[None]]:
        async def call(stream: Any) -> None:
            try:
                with self._room.hold() as hold:
                    data = await self._read(stream, hold)
                    reply = await self._intake.take(self._signal, from_protobuf(self._signal, data))
            except TooLargeInsideError as error:
                raise GRPCError(Status.RESOURCE_EXHAUSTED, str(error)) from error
            except ValueError as error:
                raise GRPCError(Status.INVALID_ARGUMENT, str(error)) from error
            except NoRoomError as error:
                # without a RetryInfo a sender drops what it sent
                raise GRPCError(Status.UNAVAILABLE, str(error)) from error
            except StoreError as error:
                raise GRPCError(Status.UNAVAILABLE, str(error)) from error
            await stream.send_message(reply.SerializeToString())

        return call

    async def _read(self, stream: Any, hold: Hold) -> bytes:
        """The one message of a call, decompressed."""
        reader = MessageReader(stream, hold, may_be_compressed=True)
        data = await reader.read_only()
        if not reader.is_compressed:
            return data
        hold.grow(MAX_BODY)
        if len(data) <= SMALL:
            return inflate(data)
        return await anyio.to_thread.run_sync(inflate, data, limiter=self._room.parsing)
