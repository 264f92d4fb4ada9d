"""The codec of the gRPC intake: bytes in, bytes out. The intake reads them."""

from __future__ import annotations

from grpclib.encoding.base import CodecBase


class RawCodec(CodecBase):
    """Leaves messages as they are."""

    @property
    def __content_subtype__(self) -> str:
        return "proto"

    def encode(self, message: bytes, message_type: object) -> bytes:  # noqa: ARG002
        """The bytes of a reply."""
        return message

    def decode(self, data: bytes, message_type: object) -> bytes:  # noqa: ARG002
        """The bytes of a request."""
        return data
