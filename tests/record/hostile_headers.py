"""`sw8` headers that are not well-formed, whatever brings them."""

from __future__ import annotations

from base64 import b64encode

from swagent.record.trace.carrier import MAX_FIELD, MAX_HEADER, Carrier, format_sw8

CARRIER = Carrier(True, "trace", "segment", 3, "front", "front-1", "GET:/cart", "shop:8080")


def header_with(**changed: str) -> str:
    """A well-formed header with some of its fields, as they are on the wire, replaced."""
    names = ("sampled", "trace_id", "segment_id", "span_id", "service", "instance", "endpoint", "address")
    fields = dict(zip(names, format_sw8(CARRIER).split("-"), strict=True))
    assert changed.keys() <= fields.keys()
    return "-".join((fields | changed).values())


_ODD_IDS = ["", "+3", "-3", " 3", "1_0", "1e5", "one", "²", "٣", "1234567890", "9" * 5000, str(10**400)]
_DIGITS = [*(("sampled", text) for text in ("", "2", "\uff11")), *(("span_id", text) for text in _ODD_IDS)]
_BASE64 = {
    "no padding": "YQ", "half a padding": "YQ=", "too much padding": "YWJj=", "padding in the middle": "YQ==YQ==",
    "padding only": "====", "leading padding": "=YWJj", "foreign characters": "YWJj!!!!", "alphabet of URLs": "_w==",
    "bits left over": "YR==", "NUL in the middle": "YW\0Jj", "line break within": "YWJj\nYWJj",
    "not UTF-8": b64encode(b"\xff\xfe").decode(), "a surrogate in UTF-8": b64encode(b"\xed\xa0\x80").decode(),
    "overlong UTF-8": b64encode(b"\xc0\xaf").decode(),
}  # fmt: skip
_TEXTS = ["trace_id", "segment_id", "service", "instance", "endpoint", "address"]
HOSTILE = {
    **{f"{name} {text[:10]!r} of {len(text)}": header_with(**{name: text}) for name, text in _DIGITS},
    **{f"empty {field}": header_with(**{field: ""}) for field in _TEXTS},
    **{name: header_with(trace_id=value) for name, value in _BASE64.items()},
    "empty": "",
    "only separators": "-------",
    "seven fields": header_with().rpartition("-")[0],
    "nine fields": header_with() + "-" + "YQ==",
    "two headers joined by a comma": f"{header_with()},{header_with()}",
    "line break behind": header_with() + "\n",
    "CRLF and another header": header_with() + "\r\nx: y",
    "blank before": " " + header_with(),
    "field too long": header_with(endpoint=b64encode(b"x" * (MAX_FIELD + 1)).decode()),
    "header too long": header_with(endpoint="YWJj" * MAX_HEADER),
}
