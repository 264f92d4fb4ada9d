"""grpclib's channel, hardened. Every touch of grpclib's internals is here and in the other `_grpclib_*` modules;
`tests/transports/test_grpclib_touch.py` fails when grpclib changes.

grpclib dials, keeps the connection, and has h2 look after it. Calls and their streams are ours (`_grpclib_call`,
`_grpclib_streams`), since grpclib and h2 take a million instructions for a call, and a tenth of that for each 16 KiB of
a batch. Here a batch is one write, and its answer is read in one go:

* The headers of a request are compressed once, and those of an answer are read once (`_grpclib_headers`).
* A batch is cut into as few DATA frames as the peer takes, by its windows (`_grpclib_batch`). A rest that they do
  not let out is sent by the event that opens them: no task waits.
* No task is made for a call, unless it has to dial.

grpclib 0.4 lacks these things, which an application's process needs:

* A frame that it does not know, or a 1xx answer, raises inside `data_received` and so lands in the *application's* loop
  exception handler. Here such events are ignored, and bytes that h2 cannot digest close the connection.
* It buffers whatever length a reply declares, and h2 whatever length a frame declares. Here both are capped before they
  are read, and so is what a peer makes us answer (pings, settings) without reading it, and the number of frames that it
  sends without an answer.
* All that has arrived is worked through in one callback: thousands of frames, or compressed headers that take a tenth
  of a second to unpack. Here it goes slice by slice, and a single frame that takes too long is refused, see
  `_grpclib_slices`.
* A stream that the peer provably did not process (GOAWAY with a lower last stream id, REFUSED_STREAM) is treated as
  one that it may have. Here it is not, since such a batch may be sent again.
* A graceful GOAWAY ends all calls at once. Here the connection retires: the calls that the peer took finish on it. A
  peer that asks for calm with it is left alone for a while.
* The first call is sent before the peer has said anything. Here its SETTINGS are waited for, so that a port where
  something else listens hears neither token nor records.
* hpack logs every header at level DEBUG. Here it logs nothing, and grpclib neither.
* Each call ends as soon as its outcome is known, and what is answered stays answered, even if the connection breaks
  right behind it.
* The loop's own resolver runs in a thread that the loop waits for. Here the loop does not wait, see `_resolver`.
* A connection lasts as long as its peer wants. Here it is made anew at an age (`_connection_age`): the next one is
  dialled while calls go on over the old one, which ends with its last call. If dialling fails, the old one stays.
* `Channel.close()` lets asyncio drain the write buffer first, which a dead peer never does. Here it is aborted.
"""

# pyright: reportPrivateUsage=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import anyio
from grpclib.client import Channel, Handler
from grpclib.config import Configuration
from grpclib.encoding.base import CodecBase
from grpclib.metadata import USER_AGENT
from grpclib.protocol import H2Protocol

from swagent.agent_log import say

from ._connection_age import ConnectionAge
from ._dialling import dial
from ._grpclib_call import Call
from ._grpclib_connection import GrpcProtocol
from ._grpclib_headers import encode_request
from ._grpclib_streams import WINDOW, NotProcessedError

if TYPE_CHECKING:
    from ssl import SSLContext

_CONFIGURATION = Configuration(http2_connection_window_size=WINDOW, http2_stream_window_size=WINDOW)


class _RawCodec(CodecBase):
    """Never asked: `Call` sends bytes, and reads them."""

    @property
    def __content_subtype__(self) -> str:
        return "proto"

    def encode(self, message: Any, message_type: Any) -> bytes:  # noqa: ARG002
        return bytes(message)

    def decode(self, data: bytes, message_type: Any) -> bytes:  # noqa: ARG002
        return data


class GrpcChannel(Channel):
    """One HTTP/2 connection to one collector, dialled anew by the next call after it broke or retired.

    :ivar age: of the connection in use
    """

    def __init__(self, host: str, port: int, context: SSLContext | None, age: ConnectionAge) -> None:
        super().__init__(host, port, ssl=context, codec=_RawCodec(), config=_CONFIGURATION)
        # the connection in use, and those that retire
        self._open: set[GrpcProtocol] = set()
        self._is_aborted = False
        self.age = age
        self._renewal: asyncio.Task[None] | None = None

    def _protocol_factory(self) -> H2Protocol:
        return GrpcProtocol(self._open, Handler(), self._config, self._h2_config)

    async def _create_connection(self) -> H2Protocol:
        context: SSLContext | None = cast("Any", self._ssl)
        _, dialled = await dial(self._protocol_factory, self._host or "", self._port or 0, context)
        protocol = cast("GrpcProtocol", dialled)
        try:
            if self._is_aborted:
                raise ConnectionAbortedError("given up while it was dialled")
            await protocol.processor.wait_greeted()
        except BaseException:
            protocol.processor.close("given up before it greeted")
            raise
        self.age.begin(self._loop.time())
        return protocol

    def begin(self, call: Call) -> asyncio.Future[bytes]:
        """Send a call: at once over the connection that is there, or in a task that dials first.

        :returns: its outcome, which may be cancelled
        """
        protocol = cast("GrpcProtocol | None", self._protocol)
        if protocol is None or not self._connected or protocol.processor.pause or self._is_aborted:
            return asyncio.ensure_future(_exchange(self, call))
        protocol.processor.begin(call)
        return call.answer

    async def connect(self) -> GrpcProtocol:
        """Dial, unless connected. Nothing of any call is sent by this.

        :raises OSError: when that fails, or when the channel is aborted meanwhile
        :raises NotProcessedError: when the peer asked for calm, or speaks no HTTP/2
        """
        last = cast("GrpcProtocol | None", self._protocol)
        if last is not None and (pause := last.processor.take_pause()):
            raise NotProcessedError("the collector asked to be left alone", pause)
        if not self._is_aborted:
            protocol = await self.__connect__()
            if not self._is_aborted:
                return cast("GrpcProtocol", protocol)
            self.abort()
        raise ConnectionAbortedError("given up while it was dialled")

    @property
    def is_aged(self) -> bool:
        """Whether the connection is to be made anew, and is not already."""
        return self._loop.time() >= self.age.over_at and self._renewal is None and self._connected

    def renew(self, seconds: float) -> asyncio.Task[None]:
        """Make the connection anew within so many seconds, in a task that ends early when the channel is aborted."""
        self._renewal = asyncio.ensure_future(self._renew(seconds))
        return self._renewal

    async def _renew(self, seconds: float) -> None:
        """Dial another connection and let it take the place of the old one. If that fails, the old one stays."""
        try:
            # a call that finds the old one broken meanwhile waits for this one
            with anyio.fail_after(seconds):
                async with self._connect_lock:
                    old = cast("GrpcProtocol", self._protocol)
                    self._protocol = await self._create_connection()
                    old.processor.replace()
        except (OSError, NotProcessedError) as error:
            say(logging.DEBUG, "the connection to %s is not made anew: %r", self._host, error)
            self.age.begin(self._loop.time())
        finally:
            self._renewal = None

    def abort(self) -> None:
        """Drop every connection and what is in its buffers, now and for ever."""
        self._is_aborted = True
        if self._renewal is not None:
            self._renewal.cancel()
        for protocol in tuple(self._open):
            protocol.processor.close()
        self.close()

    def request_block(self, path: str, metadata: Mapping[str, str]) -> bytes:
        """The compressed headers of a call."""
        return encode_request(
            [
                (":method", "POST"),
                (":scheme", self._scheme),
                (":path", path),
                (":authority", self._authority),
                ("te", "trailers"),
                ("content-type", "application/grpc"),
                ("user-agent", USER_AGENT),
                *metadata.items(),
            ]
        )


async def _exchange(channel: GrpcChannel, call: Call) -> bytes:
    """Dial, send a call, and wait for its answer."""
    protocol = await channel.connect()
    protocol.processor.begin(call)
    return await call.answer
