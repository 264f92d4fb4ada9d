"""The query for each path of the JSON API, with its parameters."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ..findings.baselines import Baselines
from ..store.store import Store
from . import (
    calls,
    compare,
    differences,
    errors,
    findings,
    heatmap,
    instances,
    logs,
    loop,
    losses,
    meters,
    process,
    processes,
    profiles,
    tags,
    trace,
    traces,
)
from .failure_index import FailureIndex
from .matching import FILTERS
from .memo import Memo
from .merged_stacks import MergedStacks
from .mostly import MostlyIndex
from .newest import NewestTraces
from .parameters import Parameters
from .profile_order import PATH as PROFILES
from .query_thread import QueryThread

Answer = dict[str, Any]
Query = Callable[[Parameters], "Answer | None"]


_KEPT = {"/api/services": 0.0, "/api/map": 0.0, "/api/tags": 0.0, "/api/findings": 0.25}
"""The paths whose answers are kept; those that took less than these seconds are made anew where they are old."""


def memos(store: Store, thread: QueryThread, found: Mapping[str, Query]) -> Mapping[str, Memo]:
    """The answers that are kept, by path: to a request without parameters.

    :param found: of `queries`
    """
    nothing = Parameters({}, {})
    return {path: Memo(store, thread, partial(found[path], nothing), at_once) for path, at_once in _KEPT.items()}


def queries(store: Store) -> Mapping[str, Query]:
    """The query for each path. One of them at a time may run, in any thread. None is the answer where nothing is kept
    of what the path names."""
    merged, newest, known = MergedStacks(store), NewestTraces(store), MostlyIndex(store)
    failures, baselines = FailureIndex(store), Baselines(store)
    return {
        "/api/services": lambda query: calls.services(store, query.bounds()),
        "/api/services/{service:path}/endpoints": lambda query: calls.endpoints(
            store, query.path("service"), query.bounds()
        ),
        "/api/instances": lambda query: instances.instances(store, query.text("service"), time.time()),
        "/api/traces": lambda query: traces.traces(
            store,
            newest,
            known,
            query.present(**FILTERS),
            query.choice("sort", ("newest", "slowest")),
            query.limit(50),
            query.text("cursor"),
        ),
        "/api/traces/{trace:path}/findings": lambda query: findings.trace_findings(
            store, baselines, query.path("trace")
        ),
        "/api/traces/{trace:path}": lambda query: trace.trace(store, query.path("trace")),
        "/api/findings": lambda query: findings.findings(
            store, failures, baselines, query.bounds(), query.number("at", 0) if query.text("at") else None
        ),
        "/api/loop": lambda query: loop.neighbours(store, query.needed("trace_id")),
        "/api/heatmap": lambda query: heatmap.heatmap(store, query.present(**FILTERS)),
        "/api/differences": lambda query: differences.differences(
            store, query.present(**FILTERS), query.present(numbers=tuple(differences.BOX))
        ),
        "/api/tags": lambda _: tags.keys(store),
        "/api/tags/{key:path}": lambda query: tags.values(store, query.path("key"), query.text("part")),
        "/api/map": lambda _: calls.service_map(store),
        "/api/logs": lambda query: logs.logs(
            store,
            query.present(texts=("service", "level", "q", "trace_id"), numbers=("from", "to")),
            query.limit(100),
            query.text("cursor"),
        ),
        "/api/logs/{number}": lambda query: logs.log(store, query.path("number")),
        "/api/meters": lambda query: meters.meters(store, query.text("service"), query.text("instance")),
        "/api/meters/series": lambda query: meters.series(
            store, query.needed("service"), query.needed("instance"), query.needed("name"), query.number("from", 0)
        ),
        "/api/errors": lambda query: errors.errors(
            store,
            failures,
            query.present(texts=("service", "endpoint", "q"), numbers=("from", "to")),
            query.choice("sort", errors.ORDERS),
        ),
        "/api/errors/{group}": lambda query: errors.error_group(
            store,
            failures,
            query.path("group"),
            query.present(texts=("service", "endpoint"), numbers=("from", "to")),
        ),
        "/api/compare": lambda query: compare.compare(
            store, query.moment("at"), query.present(texts=("service",), numbers=("from", "to"))
        ),
        "/api/median": lambda query: compare.median(
            store, query.needed("service"), query.needed("endpoint"), query.text("trace")
        ),
        "/api/ledgers": lambda _: meters.ledgers(store, time.time()),
        "/api/losses": lambda query: losses.losses(store, query.number("from", 0), query.number("to", 2**62)),
        "/api/process": lambda query: process.process(
            store, query.needed("service"), query.needed("instance"), query.number("from", 0)
        ),
        "/api/processes": lambda _: processes.processes(store, time.time()),
        "/api/events": lambda query: instances.events(store, query.text("service")),
        PROFILES: lambda query: profiles.profiles(store, query.text("trace_id"), time.time()),
        PROFILES + "/{task:path}": lambda query: profiles.profile(
            store,
            merged,
            query.path("task"),
            query.present(texts=("segment",), numbers=("from", "to")),
            time.time(),
        ),
    }
