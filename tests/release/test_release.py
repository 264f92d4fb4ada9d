"""What a release refuses, and what makes two builds the same."""

from __future__ import annotations

import base64
import gzip
import io
import tarfile
import zipfile

import pytest

from release import archives, run, sbom, versions

CHANGELOG = "# Changelog\n\n## [1.2.0] - unreleased\n\n## [1.1.0] - 2026-03-01\n\n## [1.0] - 2026-02-01\n"


def source(seconds: int, owner: str, *, backwards: bool = False) -> bytes:
    """A source distribution as one machine packs it."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name in sorted(("p-1/LICENSE", "p-1/a.py"), reverse=backwards):
            member = tarfile.TarInfo(name)
            member.size, member.mtime, member.uname = 3, seconds, owner
            archive.addfile(member, io.BytesIO(b"abc"))
    return gzip.compress(packed.getvalue(), mtime=seconds)


def wheel(**members: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return packed.getvalue()


def test_a_source_distribution_does_not_show_when_and_where_it_was_packed() -> None:
    one, two = source(1_700_000_000, "ada"), source(1_700_000_999, "bob", backwards=True)
    assert one != two
    assert archives.repack(one, 1_600_000_000) == archives.repack(two, 1_600_000_000)
    with tarfile.open(fileobj=io.BytesIO(archives.repack(one, 1_600_000_000))) as archive:
        assert {each.name: each.mtime for each in archive} == {"p-1/LICENSE": 1_600_000_000, "p-1/a.py": 1_600_000_000}
        content = archive.extractfile("p-1/a.py")
        assert content is not None
        assert content.read() == b"abc"


def test_builds_that_differ_are_refused_with_the_member_that_differs() -> None:
    first = {"p.whl": wheel(a="1", b="2"), "p.tar.gz": b"1", "only": b""}
    assert archives.differences(first, {"p.whl": wheel(a="1", b="3"), "p.tar.gz": b"2"}) == [
        "Only one of two builds made only.",
        "Two builds of p.tar.gz differ.",
        "Two builds of p.whl differ: b.",
    ]
    assert archives.differences(first, first) == []


def test_an_archive_without_its_licence_or_notice_is_refused() -> None:
    assert archives.without_notice("p-1.tar.gz", source(0, "ada")) == ["p-1.tar.gz has no NOTICE."]
    assert archives.without_notice("p.whl", wheel(a="")) == ["p.whl has no LICENSE.", "p.whl has no NOTICE."]
    whole = wheel(**{"p.dist-info/licenses/LICENSE": "", "p.dist-info/licenses/NOTICE": ""})
    assert archives.without_notice("p.whl", whole) == []


def test_checksums_are_those_that_sha256sum_reads() -> None:
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert archives.checksums({"b": b"", "a": b""}) == f"{empty}  a\n{empty}  b\n"


@pytest.mark.parametrize(
    ("said", "tag", "complaints"),
    [
        ({"a": "1.1.0", "b": "1.1.0"}, "v1.1.0", []),
        ({"a": "1.2.0", "b": "1.2.0"}, None, []),
        ({"a": "1.1.0", "b": "1.2.0"}, None, ["b says version 1.2.0, and the others 1.1.0."]),
        ({"a": "1.3.0"}, None, ["CHANGELOG.md has no section '## [1.3.0] - ...'."]),
        ({"a": "1.1.0"}, "1.1.0", ["The tag is 1.1.0, and the version 1.1.0 has v1.1.0."]),
        ({"a": "1.2.0"}, "v1.2.0", ["CHANGELOG.md has 'unreleased' in place of the date of 1.2.0."]),
        ({"a": "1.0"}, None, ["1.0 is no version of three numbers, with a, b or rc and a number after them at most."]),
    ],
)
def test_a_version_is_three_numbers_the_same_everywhere(
    said: dict[str, str], tag: str | None, complaints: list[str]
) -> None:
    assert versions.complaints(said, CHANGELOG, tag) == complaints


def test_this_version_could_be_released() -> None:
    changelog = (run.ROOT / "CHANGELOG.md").read_text("utf-8")
    assert versions.complaints(run.stated_versions(), changelog, None) == []


def test_the_bill_names_the_page_and_neither_times_nor_places() -> None:
    ours = {"type": "library", "bom-ref": "z", "name": "Ours", "externalReferences": [{"url": "file:///here/ours.whl"}]}
    bom = {"serialNumber": "1", "metadata": {"timestamp": "now", "tools": {}}, "components": [ours]}
    entry = {"version": "1.0", "licence": "MIT", "integrity": "sha512-" + base64.b64encode(b"\x01").decode()}
    whole = sbom.with_vendored(bom, {"@a/page": entry})
    page, agent = whole["components"]
    assert (page["purl"], page["licenses"]) == ("pkg:npm/%40a/page@1.0", [{"license": {"id": "MIT"}}])
    assert page["externalReferences"][0]["hashes"] == [{"alg": "SHA-512", "content": "01"}]
    assert agent == {"type": "library", "bom-ref": "z", "name": "Ours"}
    assert whole["metadata"] == {"tools": {}}
    assert "serialNumber" not in whole
    assert sbom.missing(whole, {"ours", "@a/page", "other"}) == ["The bill of materials does not name other."]
