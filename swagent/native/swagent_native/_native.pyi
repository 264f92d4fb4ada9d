from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping, Sequence
from contextvars import ContextVar
from typing import Any, Literal, final

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
    def segments(self, group: list[tuple[Any, Sequence[Any]]], /) -> list[bytes | None]: ...

class RequestState:
    tracer: Any
    scope: Any
    faults: Any
    number: int
    span: Any
    following: Any
    previous: Any
    clock: Any
    start_time: float
    end_time: float
    status: int
    ended: bool
    def __init__(self, tracer: Any, scope: Any, faults: Any) -> None: ...
    def finish(self) -> None: ...
    def is_stepped_here(self) -> bool: ...

class Serving:
    waiting: Callable[[], object] | None
    def __init__(
        self,
        request_type: type[RequestState],
        tracer: Any,
        faults: Any,
        end: Callable[..., object],
        every: int,
        tasks_every: int,
        find_steps: Callable[[], Any],
        time_otherwise: Callable[..., Awaitable[object]],
    ) -> None: ...
    @property
    def under_way(self) -> int: ...
    def __call__(self, app: Any, scope: Any, receive: Any, send: Any, /) -> Awaitable[object] | None: ...

@final
class Lock:
    def __new__(cls) -> Lock: ...
    def __enter__(self) -> bool: ...
    def __exit__(self, *_: object) -> None: ...

def configure_slots(*, span_type: type, segment_type: type, tracer_type: type, limit_type: type) -> None: ...
def configure_request_slots(request_span_type: type, template_type: type, /) -> None: ...
def configure_request_spans(**known: object) -> None: ...
def configure_spans(*, current: ContextVar[Any], collection: object, entry: int, exit_: int) -> None: ...
def configure_headers(
    *, no_correlation: Mapping[str, str], places: Mapping[tuple[str, str, str, str], str], share: Callable[..., object]
) -> None: ...
def add_header_fields(fields: list[Any], written: Mapping[str, str], /) -> bool: ...
def take_header_fields(fields: Any, /) -> list[Any] | None: ...
def configure_calls(
    *,
    suppressed: ContextVar[bool],
    is_setting_up: ContextVar[bool],
    installed: list[Any],
    otherwise: Callable[..., Any],
) -> None: ...
def begin_call(
    name: str, peer: str, layer: int, component: int, tags: tuple[tuple[str, str], ...] = ..., make: type = ...
) -> Any: ...
def configure_queries(
    *,
    database_type: type[tuple[Any, ...]],
    layer: int,
    said: dict[str, Any],
    settings: dict[str, Any],
    otherwise: Callable[..., Any],
) -> None: ...
def configure_awaited(*, note_failure: Callable[..., None]) -> None: ...

class AwaitedCall:
    def __init__(self, call: Callable[..., Any], begin: Callable[[Any, Any, Any], Any]) -> None: ...
    def __call__(self, owner: Any, args: tuple[Any, ...], kwargs: dict[str, Any], /) -> tuple[Any, Any]: ...

class QueryBegin:
    def __init__(self, name: str, databases: dict[Any, Any], otherwise: Callable[[Any, Any, Any], Any]) -> None: ...
    def __call__(self, connection: Any, args: tuple[Any, ...], kwargs: dict[str, Any], /) -> Any: ...

def begin_query(name: str, database: Any, statement: object = ..., parameters: object = ...) -> Any: ...
def configure_requests(
    *,
    settings: dict[str, Any],
    places: dict[tuple[str, str, str, int | None, str], tuple[str, str, tuple[tuple[str, str], ...]]],
    statuses: dict[int, tuple[str, str]],
    layer: int,
    component: int,
    url_type: type,
    reference_type: type,
    begin: Callable[[Any, Any, Any], Any],
    write: Callable[[Any, Any], object],
    end: Callable[..., object],
) -> None: ...
def begin_request(client: Any, args: tuple[Any, ...], kwargs: dict[str, Any], /) -> Any: ...
def end_request(span: Any, response: Any, /, *call: Any) -> None: ...
def look_for_cookies(
    extract: Callable[..., Any], otherwise: Callable[..., Any], cookies: Any, response: Any, /
) -> Any: ...

@final
class Step:
    def __call__(self, *args: object) -> object: ...

class Steps:
    late: Any

@final
class Late:
    def __new__(cls, steps: Steps, callback: Callable[..., object], due: float, seconds: float | None, /) -> Late: ...
    @property
    def callback(self) -> Callable[..., object]: ...
    @property
    def due(self) -> float: ...
    @property
    def seconds(self) -> float | None: ...
    def __call__(self, *args: object) -> object: ...

class Ring:
    ring_at: float

class LogRows:
    def __init__(
        self,
        pending: list[Any],
        full: int,
        encode: Callable[[], object],
        channel: Any,
        clock: Callable[[], float] | None,
    ) -> None: ...
    def __call__(self, plain: tuple[Any, ...], entry: Any = None, /) -> None: ...

class Rows:
    def __init__(self, pending: list[Any], full: int, encode: Callable[[], object], channel: Any) -> None: ...
    def __call__(self, finished: tuple[Any, ...], /) -> None: ...
    def offer_segment(self, segment: Any, /) -> None: ...

class Form:
    def __init__(self, form: bytes) -> None: ...
    def fill(self, *texts: bytes) -> bytes: ...

class Renderer:
    def __init__(
        self,
        forms: dict[tuple[Any, ...], Form],
        peers: Mapping[Any, bytes],
        splits: Mapping[Any, bytes],
        references: Mapping[Any, Any],
        odd: bytes,
        is_binary: bool,
    ) -> None: ...
    def render(
        self, row: list[Any], epoch: float, dots_only: bool, is_ignored: Callable[[str, str], bool], /
    ) -> list[bytes | None]: ...

def configure(**known: object) -> None: ...
def name_by_path(by_path: bool, /) -> None: ...
def configure_origins(ids: dict[str, Any], name_so_far: Callable[..., str], /) -> None: ...
def configure_send(
    *,
    make_otherwise: Callable[..., Any],
    send_and_follow: Callable[..., Any],
    following: type,
    note: Callable[[Any, MutableMapping[str, Any]], None],
    face: dict[str, Any],
) -> None: ...
def set_clock(clock: Callable[[], float] | None, /) -> None: ...

@final
class RecordReader:
    def __new__(
        cls,
        record_type: type,
        look_at_odd: Callable[[Any], Any],
        prefix: str,
        current: ContextVar[Any],
        joined_entry: Callable[[Any], Any],
        suppress: ContextVar[bool],
        work: ContextVar[Any],
        task_name: Callable[[], str],
        nowhere: tuple[str, str, str, int],
        no_trace: str,
        more: tuple[str, ...],
        offer: Callable[[tuple[object, ...]], object] | None,
        warn: Callable[[Exception], object] | None,
        level: int,
        letters: int,
        /,
    ) -> RecordReader: ...
    def look(self, record: Any, /) -> Any: ...
    def note(self, thread: Any, record: Any, entry: Any, /) -> tuple[object, ...] | Literal[True] | None: ...

@final
class LogRenderer:
    def __new__(
        cls,
        shapes: dict[Any, Any],
        places: dict[str, bytes],
        before_texts: dict[int, bytes],
        seconds: dict[int, str],
        clean: Callable[[str], str],
        nowhere: tuple[str, str, str, int],
        order: tuple[int, ...],
        task_letters: int,
        /,
    ) -> LogRenderer: ...
    def encode_alike(self, *columns: Sequence[Any]) -> list[bytes | None]: ...

class Hiding:
    def __init__(
        self, name: str, inner: Callable[..., object], steps: object, noted: Callable[..., object]
    ) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

def configure_clock(
    *,
    times_type: type[tuple[Any, ...]],
    note_wait: Callable[[Any, float], None],
    add_wait: Callable[[Any, float, str], None],
    name_of_call: Callable[[Any], tuple[str, str] | None],
    awaited_text: Callable[[Any, float], str],
    current_task: Callable[[Any], object],
    current: Any,
) -> None: ...
def configure_loop(*, request_clock: Any, task_type: type) -> None: ...
def configure_served(*, request_clock: Any, running_loop: Callable[[], object]) -> None: ...
def note_collection(phase: str, info: object, /) -> None: ...
def configure_places(*, name_of_place: Callable[[Any], tuple[str, str] | None], task_type: type) -> None: ...
def forget_places() -> None: ...
