"""Which licences pass, what is walked, and that NOTICE says what is there."""

from __future__ import annotations

import json
import re
import shutil
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from licences import dependencies, notice
from licences.expressions import is_compatible, stated


class Installed(Distribution):
    """A distribution that has nothing but metadata."""

    def __init__(self, *lines: tuple[str, str]) -> None:
        self._text = "".join(f"{name}: {value}\n" for name, value in (("Metadata-Version", "2.4"), *lines))

    def read_text(self, filename: str) -> str | None:
        return self._text if filename == "METADATA" else None

    def locate_file(self, path: object) -> Path:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("MIT", True),
        ("GPL-3.0-only", False),
        ("GPL-2.0-only OR Apache-2.0", True),
        ("GPL-2.0-only AND Apache-2.0", False),
        ("MIT AND (GPL-2.0-only OR BSD-3-Clause)", True),
        ("MIT AND GPL-2.0-only OR BSD-3-Clause", True),
        ("(MIT OR ISC) AND LGPL-3.0-only", False),
        ("Apache-2.0 WITH LLVM-exception", False),  # an exception has to be read first
        ("Do what you like, MIT", False),
        ("(MIT", False),
        ("MIT OR", False),
        ("MIT)", False),
        ("MIT ISC", False),
        ("", False),
    ],
)
def test_an_expression_is_compatible_if_a_choice_of_its_licences_is(expression: str, *, expected: bool) -> None:
    assert is_compatible(expression) is expected


def test_metadata_states_its_licence_in_three_ways() -> None:
    classifiers = [("Classifier", f"License :: OSI Approved :: {each}") for each in ("MIT License", "GNU GPL v3")]
    assert stated(Installed(("License-Expression", "ISC"), ("License", "MIT")).metadata) == "ISC"
    assert stated(Installed(*classifiers, ("License", "anything")).metadata) == "MIT AND GNU GPL v3"
    assert stated(Installed(("License", "Apache 2.0")).metadata) == "Apache-2.0"
    assert stated(Installed().metadata) == ""


INSTALLED = {
    "swagent": Installed(
        ("Provides-Extra", "web"),
        ("Provides-Extra", "dev"),
        ("Requires-Dist", "core"),
        ("Requires-Dist", "Page_Server[fast]; extra == 'web'"),
        ("Requires-Dist", "checker; extra == 'dev'"),
        ("Requires-Dist", "ancient; python_version < '3'"),
    ),
    "core": Installed(("License-Expression", "MIT"), ("Requires-Dist", "page-server")),
    "page-server": Installed(
        ("License-Expression", "ISC"), ("Requires-Dist", "speed; extra == 'fast'"), ("Requires-Dist", "core")
    ),
    "speed": Installed(("License-Expression", "GPL-3.0-only")),
}


def find(name: str) -> Distribution:
    if name not in INSTALLED:
        raise PackageNotFoundError(name)
    return INSTALLED[name]


def test_what_an_extra_of_a_dependency_brings_is_judged_and_tools_of_developers_are_not() -> None:
    found = dependencies.licences(find)
    assert found == {"core": "MIT", "page-server": "ISC", "speed": "GPL-3.0-only"}
    assert dependencies.complaints({**found, "silent": ""}) == [
        "speed is under GPL-3.0-only, which is not among the licences that are known to be compatible with Apache-2.0.",
        "silent is under no licence that its metadata names, which is not among the licences that are known to be"
        " compatible with Apache-2.0.",
    ]


def test_a_dependency_that_is_not_installed_is_no_dependency_without_complaint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(INSTALLED, "speed")
    with pytest.raises(PackageNotFoundError):
        dependencies.licences(find)


def test_the_notice_names_each_library_of_the_page_with_its_holder(tmp_path: Path) -> None:
    vendor = tmp_path / "vendor"
    shutil.copytree(notice.ROOT / notice.VENDOR, vendor)
    manifest = json.loads((vendor / "manifest.json").read_text())
    text = notice.whole(vendor)
    for name, entry in manifest.items():
        _, _, rest = text.partition(f"- {name} {entry['version']}, {entry['licence']}; ")
        assert "\n  Copyright" in rest.partition("\n\n")[0], name
    assert notice.complaints(vendor) == []
    manifest["htm"]["version"] = "9.9.9"
    (vendor / "manifest.json").write_text(json.dumps(manifest))
    assert notice.complaints(vendor) == ["NOTICE is not as its generator writes it: make generate."]


def test_the_copies_of_the_accelerator_are_held_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(notice, "NATIVE", tmp_path)
    assert len(notice.complaints()) == 2


def test_the_proposal_names_each_direct_dependency_with_its_extras() -> None:
    rows = re.findall(
        r"^\| ([a-z][\w-]*) \| (.+?) \| [\w. -]+ \|$",
        (notice.ROOT / "docs" / "proposal.md").read_text("utf-8"),
        re.MULTILINE,
    )
    shown = {name: set(re.findall(r"`([\w-]+)`", needed)) for name, needed in rows}
    expected: dict[str, set[str]] = {}
    for line in distribution("swagent").requires or []:
        requirement = Requirement(line)
        extra = re.search(r'extra == "([\w-]+)"', str(requirement.marker))
        if canonicalize_name(requirement.name) in dependencies.OURS or (
            extra and extra[1] in {"all", *dependencies.OF_DEVELOPERS}
        ):
            continue
        expected.setdefault(canonicalize_name(requirement.name), set()).update([extra[1]] if extra else [])
    assert shown == expected
