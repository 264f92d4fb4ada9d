"""The codec of the gRPC intake: a malformed message is answered with INVALID_ARGUMENT."""

from __future__ import annotations

from typing import TypeVar

import betterproto
from grpclib.const import Status
from grpclib.encoding.base import CodecBase
from grpclib.exceptions import GRPCError

from .wire_check import check

M = TypeVar("M", bound=betterproto.Message)


class StrictCodec(CodecBase):
    """protobuf through betterproto, behind a check of the bytes.

    grpclib ends a call with the status of a GRPCError raised here and logs nothing; of any other error it would
    tell the client `UNKNOWN: Internal Server Error` and log a traceback.
    """

    @property
    def __content_subtype__(self) -> str:
        return "proto"

    def encode(self, message: betterproto.Message, message_type: object) -> bytes:  # noqa: ARG002
        """The bytes of a reply."""
        return bytes(message)

    def decode(self, data: bytes, message_type: type[M]) -> M:
        """A message from its bytes.

        :raises GRPCError: INVALID_ARGUMENT for bytes that are not a well-formed message
        """
        try:
            check(data, message_type)
            return message_type().parse(data)
        except Exception as error:
            reason = f"malformed {message_type.__name__}: {error}"
            raise GRPCError(Status.INVALID_ARGUMENT, reason) from error
