"""What an installation of swagent brings, with all its extras: the distributions, and the licence of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import Distribution, distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from licences.expressions import is_compatible, stated

OURS = frozenset({"swagent", "swagent-native"})
# What only those install who work on swagent.
OF_DEVELOPERS = frozenset({"demo", "dev", "docs", "mutants", "test", "test-bridge", "test-libraries"})
Find = Callable[[str], Distribution]


def licences(find: Find = distribution) -> dict[str, str]:
    """The licence by the name of each distribution that swagent or one of its extras needs, directly or not.

    :param find: an installed distribution by its name
    :raises importlib.metadata.PackageNotFoundError: when one of them is not installed, and so cannot be judged
    """
    extras = set(find("swagent").metadata.get_all("Provides-Extra") or []) - OF_DEVELOPERS
    found: dict[str, set[str]] = {}
    waiting = [("swagent", extras)]
    while waiting:
        name, wanted = waiting.pop()
        known = found.get(name)
        if known is not None and wanted <= known:
            continue
        found[name] = wanted | (known or set())
        for each in _needed(find(name).requires or [], found[name]):
            other = canonicalize_name(each.name)
            if other != "swagent-native":  # ours, and installed only where it is tested
                waiting.append((other, set(each.extras)))
    return {name: stated(find(name).metadata) for name in sorted(found.keys() - OURS)}


def complaints(found: Mapping[str, str]) -> list[str]:
    """Which of these may not be depended on, a sentence each."""
    return [
        f"{name} is under {licence or 'no licence that its metadata names'}, which is not among the licences that are"
        " known to be compatible with Apache-2.0."
        for name, licence in found.items()
        if not is_compatible(licence)
    ]


def _needed(lines: Iterable[str], extras: set[str]) -> list[Requirement]:
    every = map(Requirement, lines)
    return [
        each
        for each in every
        if each.marker is None or any(each.marker.evaluate({"extra": one}) for one in {*extras, ""})
    ]
