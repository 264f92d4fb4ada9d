"""The findings as they are answered: of one trace, and over all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ..findings.baselines import Baselines
from ..findings.finding import Finding
from ..findings.now import now
from ..findings.traces import of_trace
from ..store.store import Store
from .failure_index import FailureIndex

Answer = dict[str, Any]


def findings(
    store: Store, failures: FailureIndex, baselines: Baselines, bounds: Mapping[str, int], at: int | None
) -> Answer:
    """The findings over all that is kept, those first that explain most.

    :param bounds: `from` and `to`, as far as a time is asked for
    :param at: a moment since which something may be worse; None: only the starts of services are looked at
    """
    version = store.version
    looked = now(store, failures, baselines, bounds, at)
    return {
        "version": version,
        "requests": looked.requests,
        "ms": looked.ms,
        "samples": looked.samples,
        "findings": [_answer(each) for each in looked.findings],
    }


def trace_findings(store: Store, baselines: Baselines, trace_id: str) -> Answer | None:
    """The findings of one trace, and the cause that had most of its time; None when no segment of it is kept."""
    version = store.version
    found = of_trace(store, baselines, trace_id)
    if found is None:
        return None
    return {
        "version": version,
        "trace_id": trace_id,
        "culprit": None if found.culprit is None else _answer(found.culprit),
        "findings": [_answer(each) for each in found.findings],
    }


def _answer(finding: Finding) -> Answer:
    answer = asdict(finding)
    answer["places"] = [each._asdict() for each in finding.places]
    answer["baseline"] = None if finding.baseline is None else finding.baseline._asdict()
    return answer
