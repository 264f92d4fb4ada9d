from collections.abc import Callable, Iterable, Sequence
from typing import Any, final

API: int

@final
class SpanEncoder:
    def __new__(cls, clean: Callable[[str], str], last_layer: int, /) -> SpanEncoder: ...
    def span_object(
        self,
        span_id: int,
        parent_span_id: int,
        start_time: int,
        end_time: int,
        refs: Iterable[bytes],
        operation_name: str,
        peer: str,
        span_type: int,
        span_layer: int,
        component_id: int,
        is_error: bool,
        tags: Iterable[tuple[str, str]],
        logs: Iterable[bytes],
        skip_analysis: bool,
        /,
    ) -> bytes | None: ...
    def segment(
        self,
        trace_id: str,
        trace_segment_id: str,
        spans: Sequence[Any],
        service: str,
        service_instance: str,
        is_size_limited: bool,
        /,
    ) -> bytes | None: ...
