"""The shapes of what the JSON API answers, by path. Times are milliseconds since the epoch, durations milliseconds.

The page's own types are generated from these, and the tests check each answer that they get against them.
"""

from __future__ import annotations

from typing import Any, Literal

from typing_extensions import NotRequired, TypedDict

Outcomes = dict[str, int]
"""Counts by reason."""
Point = tuple[int, "float | None"]
"""A time and a value; None where no number is known."""
Pair = tuple[str, str]
"""A key and its value."""
State = Literal["alive", "silent", "stopped"]

FindingKind = Literal[
    "slow_dependency", "slow_way", "slow_own_code", "time_without_span", "slow_wait", "pool", "lock", "blocked_loop",
    "busy_loop", "n_plus_one", "sequential_awaits", "cancelled", "retry_storm", "error_chain", "regression",
    "hot_attribute", "queue_latency", "loop_runs", "losses",
]  # fmt: skip


class Versioned(TypedDict):
    """Every answer names the state of the store that it was made of."""

    version: int


class Limits(TypedDict):
    """How much is kept."""

    segments: int
    logs: int
    meters: int
    max_age_s: float | None


class Status(Versioned):
    """How many records are kept, and the addresses on which the collector listens."""

    segments: int
    logs: int
    meters: int
    services: int
    dropped_for_age: int
    dropped_for_count: int
    limits: Limits
    store: str
    started_at: int
    grpc: NotRequired[str]
    http: NotRequired[str | None]
    kafka: NotRequired[str | None]


class Trend(TypedDict):
    """When a trend begins, and how wide each of its parts is."""

    start: int
    width: int


class Curves(TypedDict):
    """The numbers in each part of a trend."""

    calls: list[int]
    p95: list[int | None]


class Calls(TypedDict):
    """Sums over calls; `errors` began where they are counted, `through` more came from services that were called."""

    calls: int
    errors: int
    through: int
    error_rate: float
    total: int
    p50: int | None
    p95: int | None
    p99: int | None
    calls_per_minute: float
    last_call: int | None


class Service(Calls):
    """A service, with the sums of its entry calls."""

    name: str
    instances: int
    endpoints: int
    trend: Curves
    last_seen: int


class Services(Versioned):
    """Every service heard from."""

    trend: Trend
    services: list[Service]


class Endpoint(Calls):
    """An entry endpoint."""

    name: str
    trend: Curves


class Endpoints(Versioned):
    """The entry endpoints of a service."""

    trend: Trend
    left_out: int
    endpoints: list[Endpoint]


class Instance(TypedDict):
    """A process that was heard from."""

    service: str
    name: str
    properties: dict[str, str]
    language: str
    alive: bool
    state: State
    last_seen: int
    meters: list[str]


class Instances(Versioned):
    """The processes of services."""

    instances: list[Instance]


class TraceFailure(TypedDict):
    """What failed in a trace: how many failures began in it, and of one of them the kind of the exception, the status
    where there is none, and the service. They are handled where no request failed because of them."""

    count: int
    kind: str
    status: str
    service: str
    is_handled: bool


class Mostly(TypedDict):
    """The cause that had most of a trace's time, and its share of that."""

    kind: Literal["call", "way", "own", "unsplit", "wait", "pool", "lock", "holding", "held", "busy"]
    text: str
    share: float


class TraceHead(TypedDict):
    """A trace in a list; `errors` are its spans that failed, and `failed` is whether it did itself. `mostly` is None
    where it is not known, or not yet."""

    trace_id: str
    start: int
    duration: int
    spans: int
    errors: int
    failed: bool
    endpoint: str
    service: str
    services: list[str]
    has_logs: bool
    failure: TraceFailure | None
    mostly: Mostly | None


class Traces(Versioned):
    """A page of traces. It is complete when it is known where the time of each went, as far as that can be known."""

    total: int
    total_is_exact: bool
    next: str | None
    is_complete: bool
    traces: list[TraceHead]


class SpanLog(TypedDict):
    """An event of a span."""

    time: int
    fields: list[Pair]


class Link(TypedDict):
    """A span of another trace, or another parent."""

    trace_id: str
    span: str
    service: str
    endpoint: str
    kept: bool


class Span(TypedDict):
    """A span of a trace; `shift` is how far its clock was corrected."""

    id: str
    parent: str | None
    depth: int
    service: str
    instance: str
    operation: str
    kind: str
    layer: str
    component: str
    peer: str
    start: int
    end: int
    shift: int
    error: bool
    tags: list[Pair]
    logs: list[SpanLog]
    missing_parent: bool
    parents: list[Link]
    consumers: list[Link]


class Log(TypedDict):
    """A log line."""

    id: str
    time: int
    service: str
    instance: str
    level: str
    logger: str
    text: str
    trace_id: str | None
    segment_id: str
    span_id: int
    endpoint: str
    tags: list[Pair]


class Trace(Versioned):
    """A trace whole, parents before their children. It goes on for `after` ms when its root has ended."""

    trace_id: str
    start: int
    duration: int
    after: int
    is_messaging: bool
    services: list[str]
    left_out: int
    spans: list[Span]
    logs: list[Log]


class LoopSpan(TypedDict):
    """A span of another trace that held the event loop, or waited for it."""

    trace_id: str
    id: str
    service: str
    instance: str
    operation: str
    start: int
    end: int
    tags: list[Pair]
    logs: list[SpanLog]


class LoopNeighbours(Versioned):
    """The spans that shared an event loop with those of a trace while it was blocked."""

    spans: list[LoopSpan]
    left_out: int


class Heatmap(Versioned):
    """Traces counted by start and duration. A cell is column, row, traces and failed traces."""

    total: int
    begin: int
    step: int
    columns: int
    edges: list[int]
    cells: list[tuple[int, int, int, int]]


class Difference(TypedDict):
    """A value that traces inside a box have more often than those outside."""

    kind: str
    key: str
    value: str
    term: str
    inside: int
    outside: int
    share_inside: float
    share_outside: float


class Differences(Versioned):
    """The values that distinguish the traces inside a box from the others."""

    inside: int
    outside: int
    differences: list[Difference]


class TagKey(TypedDict):
    """A tag, and how many segments have it."""

    key: str
    count: int


class TagKeys(Versioned):
    """The tags that were seen."""

    keys: list[TagKey]


class TagValue(TypedDict):
    """A value of a tag, and the term that looks for it."""

    value: str
    count: int
    term: str


class TagValues(Versioned):
    """The values of a tag."""

    key: str
    values: list[TagValue]
    more: int


class MapNode(TypedDict):
    """A service, or a peer that does not report."""

    name: str
    kind: Literal["service", "peer"]
    calls: int
    errors: int
    through: int
    p50: int | None


# `from` is a word of Python's
MapEdge = TypedDict(
    "MapEdge",
    {
        "from": str,
        "to": str,
        "calls": int,
        "errors": int,
        "through": int,
        "error_rate": float,
        "total": int,
        "p50": "int | None",
        "p95": "int | None",
        "p99": "int | None",
        "calls_per_minute": float,
        "last_call": "int | None",
    },
)


class ServiceMap(Versioned):
    """The services and peers, and the calls between them."""

    nodes: list[MapNode]
    edges: list[MapEdge]


class Logs(Versioned):
    """A page of log lines."""

    total: int
    next: str | None
    logs: list[Log]


class OneLog(Log, Versioned):
    """One log line."""


class MeterHead(TypedDict):
    """A meter of a process."""

    service: str
    instance: str
    name: str
    kind: Literal["single", "histogram"]
    labels: list[dict[str, str]]
    last: float | None


class Meters(Versioned):
    """The meters that were reported."""

    meters: list[MeterHead]


class Curve(TypedDict):
    """The values of a meter with one set of labels."""

    labels: dict[str, str]
    points: list[Point]


class Series(TypedDict):
    """A meter over time."""

    name: str
    kind: Literal["single", "histogram"]
    series: list[Curve]


class ErrorPlace(TypedDict):
    """An endpoint in which failures of a group came up."""

    service: str
    name: str
    count: int


class ErrorGroup(TypedDict):
    """Failures of one kind at one place of the code."""

    id: str
    kind: str
    file: str
    function: str
    status: str
    operation: str
    line: int
    message: str
    count: int
    first: int
    last: int
    services: list[str]
    endpoints: list[ErrorPlace]
    trend: list[int]


class Errors(Versioned):
    """Failures, in groups; `through` more only came through from services that were called."""

    total: int
    failures: int
    through: int
    left_out: int
    forgotten: int
    trend: Trend
    groups: list[ErrorGroup]


class Failure(TypedDict):
    """One failure of a group."""

    trace_id: str
    span: str
    service: str
    endpoint: str
    operation: str
    time: int
    duration: int
    message: str
    logs: int


_Window = TypedDict("_Window", {"width": int, "from": int})


class OneErrorGroup(ErrorGroup, Versioned, _Window):
    """One group with its newest failures; `stack` is of the newest, and its trend begins at `from`."""

    stack: str
    examples: list[Failure]


class Side(TypedDict):
    """The calls of an endpoint before a moment, or after it."""

    calls: int
    errors: int
    error_rate: float | None
    p50: int | None
    p95: int | None
    queries: float | None


class Change(TypedDict):
    """An endpoint before and after a moment: of each number whether it grew (1), shrank (-1), or may be chance (0)."""

    service: str
    endpoint: str
    before: Side
    after: Side
    differs: dict[str, int]
    worse: float


class Comparison(Versioned):
    """Every endpoint before and after a moment."""

    at: int
    least: int
    total: int
    left_out: int
    endpoints: list[Change]


class Median(Versioned):
    """A trace in which an endpoint took as long as usual; None where there is no other."""

    trace_id: str | None
    duration: int | None
    calls: int


class Place(TypedDict):
    """A span of a trace."""

    trace_id: str
    span: str


class Baseline(TypedDict):
    """How long an operation takes usually: the median of so many calls."""

    p50: int
    calls: int


class Finding(TypedDict):
    """One thing that is amiss: in a sentence, with the spans that show it.

    `ms` are milliseconds and `failures` failed requests that it explains, `share` is its part of a trace, `link` the
    address on the page.
    """

    kind: FindingKind
    sentence: str
    service: str
    operation: str
    confidence: Literal["high", "medium", "low"]
    link: str
    count: int
    ms: int
    failures: int
    share: float
    peer: str
    frame: str
    places: list[Place]
    baseline: Baseline | None


class Findings(Versioned):
    """The findings over all that is kept, with the number and the time of the requests that were examined."""

    requests: int
    ms: int
    samples: int
    findings: list[Finding]


class TraceFindings(Versioned):
    """The findings of one trace, and the cause that had most of its time, or took most longer than usual."""

    trace_id: str
    culprit: Finding | None
    findings: list[Finding]


class Signal(TypedDict):
    """The ledger of one signal's records."""

    signal: str
    offered: int
    confirmed: int
    queued: int
    in_flight: int
    spilled: int
    recovered: int
    refused: Outcomes
    dropped: Outcomes


class Ledger(TypedDict):
    """The ledger of one agent's records."""

    service: str
    instance: str
    state: State
    time: int
    signals: list[Signal]
    is_final: bool


class Ledgers(Versioned):
    """The ledger of each agent's records."""

    agents: list[Ledger]


Loss = TypedDict(
    "Loss",
    {
        "service": str,
        "instance": str,
        "signal": str,
        "kind": Literal["dropped", "refused"],
        "reason": str,
        "count": int,
        "from": "int | None",
        "to": int,
    },
)


class Losses(Versioned):
    """Records that were lost in a time."""

    losses: list[Loss]


class Event(TypedDict):
    """An event of a service."""

    time: int
    end: int | None
    service: str
    instance: str
    endpoint: str
    name: str
    message: str
    type: str
    parameters: dict[str, str]


class Events(Versioned):
    """The events of services."""

    events: list[Event]


class Process(Versioned):
    """The curves and events of one process."""

    meters: list[Series]
    events: list[Event]


class ProcessHead(TypedDict):
    """A process in a list."""

    service: str
    state: State
    last_seen: int
    properties: dict[str, str]
    language: str
    meters: list[str]
    instance: str
    host: str
    pid: str
    runtime: str
    now: dict[str, float]
    started: int | None
    signals: list[Signal]
    reported: int | None
    is_final: bool


class Processes(Versioned):
    """The processes of all services."""

    processes: list[ProcessHead]


class ProfileSegment(TypedDict):
    """A segment that has stacks."""

    segment_id: str
    trace_id: str | None
    instance: str
    service: str
    endpoint: str
    start: int
    duration: int
    snapshots: int


class ProfileTask(TypedDict):
    """A profile task. One that another collector made has only its name."""

    id: str
    service: str
    endpoint: str
    state: Literal["waiting", "running", "finished", "missed", "elsewhere"]
    segments: list[ProfileSegment]
    seconds: NotRequired[int]
    period_ms: NotRequired[int]
    samples: NotRequired[int]
    min_ms: NotRequired[int]
    created: NotRequired[int]
    taken: NotRequired[dict[str, int]]
    finished: NotRequired[dict[str, int]]
    asking: NotRequired[int]


class Profiles(Versioned):
    """The profile tasks, and how many instances of each service ask for them."""

    asking: dict[str, int]
    tasks: list[ProfileTask]


class StackNode(TypedDict):
    """A call on one way to it; `oap_ms` is its time as SkyWalking's OAP counts it."""

    depth: int
    name: str
    state: str | None
    library: bool
    beside: bool
    count: int
    ms: int
    self_ms: int
    oap_ms: int


class Profile(ProfileTask, Versioned):
    """A profile task with its stacks merged."""

    left_out: int
    nodes: list[StackNode]


ANSWERS: dict[str, Any] = {
    "/api/status": Status,
    "/api/services": Services,
    "/api/services/{service:path}/endpoints": Endpoints,
    "/api/instances": Instances,
    "/api/traces": Traces,
    "/api/traces/{trace:path}/findings": TraceFindings,
    "/api/traces/{trace:path}": Trace,
    "/api/findings": Findings,
    "/api/loop": LoopNeighbours,
    "/api/heatmap": Heatmap,
    "/api/differences": Differences,
    "/api/tags": TagKeys,
    "/api/tags/{key:path}": TagValues,
    "/api/map": ServiceMap,
    "/api/logs": Logs,
    "/api/logs/{number}": OneLog,
    "/api/meters": Meters,
    "/api/meters/series": Series,
    "/api/errors": Errors,
    "/api/errors/{group}": OneErrorGroup,
    "/api/compare": Comparison,
    "/api/median": Median,
    "/api/ledgers": Ledgers,
    "/api/losses": Losses,
    "/api/process": Process,
    "/api/processes": Processes,
    "/api/events": Events,
    "/api/profiles": Profiles,
    "/api/profiles/{task:path}": Profile,
}
"""The model of each path's answer."""
