"""Every target takes its corpus, and whatever hypothesis makes of it, and takes its time in proportion."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzz.mutation import mutate
from fuzz.targets import CORPUS, GROWING, TARGETS, Target, quieten, seeds

# a reply takes a connection, a loop and a server each time
_EXAMPLES = {"grpc_reply": 40, "http_reply": 40, "environment": 100}
_SMALL, _FACTOR = 8192, 4


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    level = logging.getLogger("swagent").level
    quieten()
    yield
    logging.getLogger("swagent").setLevel(level)


def test_every_target_has_a_corpus() -> None:
    assert {path.name for path in CORPUS.iterdir()} == set(TARGETS)
    assert all(len(seeds(target)) >= 4 for target in TARGETS)


@pytest.mark.parametrize(
    ("target", "path"),
    [(target, path) for target in TARGETS for path in sorted((CORPUS / target).iterdir())],
    ids=lambda each: each.name if isinstance(each, Path) else None,
)
def test_the_corpus_is_taken(target: str, path: Path) -> None:
    TARGETS[target](path.read_bytes())


@pytest.mark.gate
@pytest.mark.parametrize("name", TARGETS)
def test_anything_is_taken(name: str) -> None:
    known = seeds(name)
    inputs = st.binary(max_size=200) | st.randoms(use_true_random=False).map(lambda dice: mutate(known, dice))

    @settings(max_examples=_EXAMPLES.get(name, 200), deadline=None, suppress_health_check=list(HealthCheck))
    @given(inputs)
    def holds(data: bytes) -> None:
        TARGETS[name](data)

    holds()


def _cost(target: Target, data: bytes) -> float:
    """The least of several, so that a busy machine does not count."""
    best = float("inf")
    for _ in range(3):
        began = time.thread_time()
        target(data)
        best = min(best, time.thread_time() - began)
    return best


@pytest.mark.gate
@pytest.mark.parametrize(
    ("name", "grow"),
    [(name, grow) for name, inputs in GROWING.items() for grow in inputs],
    ids=[f"{name}-{grow(24)!r}" for name, inputs in GROWING.items() for grow in inputs],
)
def test_time_grows_with_the_length_and_no_faster(name: str, grow: Callable[[int], bytes]) -> None:
    small, large = _cost(TARGETS[name], grow(_SMALL)), _cost(TARGETS[name], grow(_FACTOR * _SMALL))
    # by the square it would be 16 times
    assert large <= 2 * _FACTOR * small + 0.002, f"{small:.4f} s, and {large:.4f} s for {_FACTOR} times the length"
