"""From a plan that fails to a smaller one that fails in the same way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from .plan import Fault, Plan

Fails = Callable[[Plan], bool]


def shrink(plan: Plan, fails: Fails) -> Plan:
    """Take away faults as long as what is left still fails: halves first, then smaller parts, then one by one.

    :param fails: runs a plan, and says whether it fails as the first one did
    """
    size = max(1, len(plan.faults) // 2)
    while plan.faults:
        smaller = _without_one_part(plan, size, fails)
        if smaller is not None:
            plan = smaller
            size = min(size, max(1, len(plan.faults) // 2))
        elif size == 1:
            break
        else:
            size = max(1, size // 2)
    return _sooner(plan, fails)


def _without_one_part(plan: Plan, size: int, fails: Fails) -> Plan | None:
    for part in _parts(plan.faults, size):
        smaller = plan.without(*part)
        if fails(smaller):
            return smaller
    return None


def _sooner(plan: Plan, fails: Fails) -> Plan:
    """The same, with a shorter end where that fails too."""
    calm = plan.calm_from
    shorter = replace(plan, ends_at=min(plan.ends_at, calm + 30.0))
    return shorter if shorter != plan and fails(shorter) else plan


def _parts(faults: Sequence[Fault], size: int) -> list[Sequence[Fault]]:
    return [faults[start : start + size] for start in range(0, len(faults), size)]
