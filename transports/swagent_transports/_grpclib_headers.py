"""Compressed headers of gRPC calls: those of a request are made once, and those of an answer are read once.

A request's headers use no dynamic table. So they are the same bytes for each call, on each connection.
"""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from h2.exceptions import ProtocolError
from hpack import hpack
from hpack.exceptions import HPACKError
from hpack.table import HeaderTable

from ._rebinding import silenced, without_logs

Fields = dict[str, str]

# hpack's log lines show each header, the token among them, and each number of it.
_SilentTable = without_logs(HeaderTable)
_SilentEncoder = without_logs(hpack.Encoder, encode_integer=silenced(hpack.encode_integer))
_SilentDecoder = without_logs(hpack.Decoder, decode_integer=silenced(hpack.decode_integer))
# The first block on a connection begins with it: from here on the dynamic table holds nothing.
NO_TABLE = b"\x20"
# The bytes that the headers of one answer may take, unpacked.
_MAX_UNPACKED = 64 * 1024
# How many blocks are remembered. A collector sends two or three that differ.
_MOST_KNOWN = 32
_LONGEST_KNOWN = 256


def silent_encoder() -> Any:
    """An Encoder that logs nothing."""
    encoder: Any = _SilentEncoder()
    encoder.header_table = _SilentTable()
    return encoder


def encode_request(fields: Iterable[tuple[str, str]]) -> bytes:
    """The block of a request's headers. Values that no static table has are marked as never to be indexed."""
    block: bytes = silent_encoder().encode([(name, value, True) for name, value in fields])
    return block


class HeaderReader:
    """Reads the header blocks of one connection, all of them and in their order."""

    def __init__(self) -> None:
        self._decoder: Any = _SilentDecoder()
        self._decoder.header_table = _SilentTable()
        self._decoder.max_header_list_size = _MAX_UNPACKED
        self._known: dict[bytes, Fields] = {}

    def read(self, block: bytes) -> Fields:
        """The fields of the block; of a name that comes twice the last.

        :raises ProtocolError: when it cannot be unpacked, or grows too large
        :raises UnicodeDecodeError: when it is not ASCII
        """
        known = self._known.get(block)
        if known is not None:
            return known
        table = self._decoder.header_table
        before = _newest(table), len(table.dynamic_entries), table.maxsize
        try:
            pairs = self._decoder.decode(block, raw=True)
        except (HPACKError, IndexError) as error:
            raise ProtocolError(f"headers that cannot be read: {error!r}") from error
        found = {str(name, "ascii"): str(value, "ascii") for name, value in pairs}
        newest, count, size = before
        if _newest(table) is not newest or (len(table.dynamic_entries), table.maxsize) != (count, size):
            # the table has changed, and with it what other blocks mean
            self._known.clear()
        elif len(block) <= _LONGEST_KNOWN:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[block] = found
        return found


def _newest(table: Any) -> object:
    """The entry that came last into the dynamic table."""
    entries = table.dynamic_entries
    return entries[0] if entries else None
