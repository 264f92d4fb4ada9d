"""The context that travels with a call, as items that an application copies into headers and out of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..record.trace.carrier import Carrier as Fields
from ..record.trace.carrier import format_correlation, format_sw8, parse_correlation, parse_sw8
from ..record.trace.tracer import running

# Elements and characters, while no agent runs whose settings say so.
_LIMITS = (3, 128)


class CarrierItem:
    """A header: its name is `key`, its value `val`."""

    def __init__(self, key: str = "", val: str = "") -> None:
        self.key = key
        self._given = val

    @property
    def val(self) -> str:
        """The header's value; empty: there is nothing to send."""
        return self._given

    @val.setter
    def val(self, val: str) -> None:
        self._given = val


class SW8CorrelationCarrier(CarrierItem):
    """The elements that travel with a trace.

    :ivar correlation: these elements
    """

    def __init__(self, correlation: Mapping[str, str] | None = None) -> None:
        super().__init__("sw8-correlation")
        self.correlation = dict(correlation or {})

    @property
    def val(self) -> str:
        """The header's value; empty: there is no element."""
        return format_correlation(self.correlation)

    @val.setter
    def val(self, val: str) -> None:
        tracer = running()
        self.correlation |= parse_correlation(val or "", *(tracer.correlation_limits if tracer else _LIMITS))


class Carrier(CarrierItem):
    """The place that a call comes from. Iterated, it gives itself and its correlation: `for item in carrier`."""

    def __init__(
        self,
        trace_id: str = "",
        segment_id: str = "",
        span_id: str = "",
        service: str = "",
        service_instance: str = "",
        endpoint: str = "",
        client_address: str = "",
        correlation: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__("sw8")
        self.trace_id = trace_id
        self.segment_id = segment_id
        self.span_id = span_id
        self.service = service
        self.service_instance = service_instance
        self.endpoint = endpoint
        self.client_address = client_address
        self.correlation_carrier = SW8CorrelationCarrier(correlation)
        self.items: list[CarrierItem] = [self.correlation_carrier, self]

    @property
    def val(self) -> str:
        """The header's value; empty: the trace is not recorded, and the peer begins one of its own."""
        fields = self.fields()
        return "" if fields is None else format_sw8(fields)

    @val.setter
    def val(self, val: str) -> None:
        self._given = val
        fields = parse_sw8(val) if val else None
        if fields is not None:
            _, self.trace_id, self.segment_id, number, self.service, self.service_instance, *rest = fields
            self.span_id, (self.endpoint, self.client_address) = str(number), rest

    @property
    def is_valid(self) -> bool:
        """Whether it names a place in full."""
        return self.fields() is not None

    @property
    def is_suppressed(self) -> bool:
        """Whether a header has come that names no place."""
        return bool(self._given) and not self.is_valid

    def fields(self) -> Fields | None:
        """The place; None: it is not complete."""
        names = (self.service, self.service_instance, self.endpoint, self.client_address)
        number = str(self.span_id)
        if not (number.isascii() and number.isdigit() and self.trace_id and self.segment_id and all(names)):
            return None
        return Fields(True, str(self.trace_id), str(self.segment_id), int(number), *names)

    def __iter__(self) -> Iterator[CarrierItem]:
        return iter(self.items)
