"""The version of a release: one in all places, and described by the changelog."""

from __future__ import annotations

import re
from collections.abc import Mapping

_SECTION = re.compile(r"^## \[(?P<version>[^]]+)\] - (?P<date>.+)$", re.MULTILINE)
_SEMANTIC = re.compile(r"\d+\.\d+\.\d+((a|b|rc)\d+)?")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def complaints(versions: Mapping[str, str], changelog: str, tag: str | None) -> list[str]:
    """What forbids a release, a sentence each.

    :param versions: the version by the place that says it
    :param changelog: the text of CHANGELOG.md
    :param tag: the tag of what is published, which then has a date; none where a release is only tried
    """
    version = next(iter(versions.values()))
    found = [
        f"{place} says version {each}, and the others {version}." for place, each in versions.items() if each != version
    ]
    if not _SEMANTIC.fullmatch(version):
        found.append(f"{version} is no version of three numbers, with a, b or rc and a number after them at most.")
    dates = {each["version"]: each["date"] for each in _SECTION.finditer(changelog)}
    if version not in dates:
        found.append(f"CHANGELOG.md has no section '## [{version}] - ...'.")
    if tag is None:
        return found
    if tag != f"v{version}":
        found.append(f"The tag is {tag}, and the version {version} has v{version}.")
    if version in dates and not _DATE.fullmatch(dates[version]):
        found.append(f"CHANGELOG.md has '{dates[version]}' in place of the date of {version}.")
    return found
