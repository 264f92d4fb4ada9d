"""The gRPC intake: every service of the collect protocol. An agent that asks for profile tasks gets the tasks that were
made here. No other answer has commands in it.

Agents for other languages report more, such as the Java agent its virtual machine. What nothing here shows is read and
answered. Any other call is refused by a full answer: a client that misses a content-type connects anew each time.

A message that has arrived on a stream is kept, though the stream may break later, as in OAP. The answer comes when all
messages are committed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

from grpclib.const import Cardinality, Handler, Status
from grpclib.exceptions import GRPCError

from ..store.database import StoreError
from ..store.protocol import service
from ..store.store import Store
from .message_reader import MessageReader
from .messages import Intake
from .room import NoRoomError, Room

# Every package of the protocol begins like this.
_PREFIX = "/skywalking."
SERVICES = (
    "TraceSegmentReportService",
    "SpanAttachedEventReportService",
    "LogReportService",
    "EventService",
    "MeterReportService",
    "ManagementService",
    "ConfigurationDiscoveryService",
    "ProfileTask",
)


class Calls(dict[str, Handler]):
    """The calls that a server takes, by their paths, and an answer to all others."""

    def __init__(self, calls: Mapping[str, Handler], room: Room) -> None:
        super().__init__(calls)
        self._room = room

    def get(self, path: str, default: Any = None) -> Any:  # noqa: ARG002
        """The handler of a call; there is one for every path."""
        if path in self:
            return self[path]
        answer = self._take_nothing if path.startswith(_PREFIX) else _refuse
        return Handler(answer, Cardinality.STREAM_UNARY, bytes, bytes)

    async def _take_nothing(self, stream: Any) -> None:
        with self._room.hold() as hold, suppress(EOFError):
            reader = MessageReader(stream, hold)
            while True:
                await reader.read()
        await stream.send_message(b"")


async def _refuse(stream: Any) -> None:  # noqa: ARG001
    raise GRPCError(Status.UNIMPLEMENTED, "not a call of SkyWalking's agents")


class GrpcService:
    """One service of the protocol, as grpclib's server takes it."""

    def __init__(self, name: str, store: Store, room: Room) -> None:
        self._store = store
        self._room = room
        self._description = service(name)

    def __mapping__(self) -> dict[str, Handler]:
        prefix = f"/{self._description.full_name}/"
        return {prefix + method.name: self._handler(method) for method in self._description.methods}

    def _handler(self, method: Any) -> Handler:
        name = method.input_type.name
        if method.client_streaming:
            return Handler(self._calls(name, _take_stream), Cardinality.STREAM_UNARY, bytes, bytes)
        return Handler(self._calls(name, _take_one), Cardinality.UNARY_UNARY, bytes, bytes)

    def _calls(
        self, name: str, take: Callable[[MessageReader, str, Intake], Awaitable[None]]
    ) -> Callable[[Any], Awaitable[None]]:
        async def call(stream: Any) -> None:
            intake = Intake(self._store, self._room.parsing)
            try:
                with self._room.hold() as hold:
                    await take(MessageReader(stream, hold), name, intake)
                await asyncio.sleep(0)  # calls that end at the same time share a commit
                intake.commit()
            except ValueError as error:
                raise GRPCError(Status.INVALID_ARGUMENT, str(error)) from error
            except NoRoomError as error:
                raise GRPCError(Status.RESOURCE_EXHAUSTED, str(error)) from error
            except StoreError as error:
                raise GRPCError(Status.UNAVAILABLE, str(error)) from error
            await stream.send_message(intake.answer)

        return call


async def _take_stream(reader: MessageReader, name: str, intake: Intake) -> None:
    """Take each message until the client half-closes."""
    try:
        while True:
            await intake.take_all(name, await reader.read())
    except EOFError:
        return


async def _take_one(reader: MessageReader, name: str, intake: Intake) -> None:
    await intake.take(name, await reader.read_only())
