"""Our .proto files say the same as the official agent's, field for field."""

from __future__ import annotations

from typing import Any

import pytest

from wire.facts import Facts, facts_of

PACKAGE = "skywalking.v3"

FILES_LEFT_OUT = {
    "browser/BrowserPerf.proto",
    "ebpf/accesslog.proto",
    "language-agent/CLRMetric.proto",
    "language-agent/JVMMetric.proto",
    "service-mesh-probe/service-mesh.proto",
}
"""Official files that ours have no counterpart of: the signals of other agents."""

LEFT_OUT: set[str] = set()
"""The definitions of official files beside ours, within the files that we have."""

NEWER = {
    "profile/Profile.proto GoProfileData",
    "profile/Profile.proto GoProfileData.1",
    "profile/Profile.proto GoProfileData.2",
    "profile/Profile.proto GoProfileData.3",
    "profile/Profile.proto ProfileTask/goProfileReport",
}
"""Definitions of ours that the official agent's release does not know yet: nothing to compare with."""


def facts(descriptors: Any) -> Facts:
    return facts_of(file for file in descriptors.file if file.package == PACKAGE)


@pytest.mark.gate
@pytest.mark.timeout(300)  # the first run downloads
def test_ours_are_the_official_ones(our_descriptors: Any, official_descriptors: Any) -> None:
    ours, official = facts(our_descriptors), facts(official_descriptors)
    assert len(ours) > 150
    assert {name for name in ours if name not in official} == NEWER
    assert {name: fact for name, fact in ours.items() if name not in NEWER and fact != official[name]} == {}


@pytest.mark.timeout(300)
def test_the_left_out_fields_are_known(our_descriptors: Any, official_descriptors: Any) -> None:
    ours, official = facts(our_descriptors), facts(official_descriptors)
    absent = {name for name in official if name not in ours}
    absent_files = {name.removeprefix("file ") for name in absent if name.startswith("file ")}
    assert absent_files == FILES_LEFT_OUT
    assert {name for name in absent if name.split()[0] not in {"file", *absent_files}} == LEFT_OUT
