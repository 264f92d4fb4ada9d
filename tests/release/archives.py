"""The bytes of archives: a source distribution that is always the same, and the comparison of two builds."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path


def repack(archive: bytes, seconds: int) -> bytes:
    """The same files in a source distribution that says nothing of when, where and by whom it was built.

    setuptools leaves the time of the build in it.

    :param seconds: the time of each file, since the epoch
    """
    packed = io.BytesIO()
    with (
        tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as source,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as target,
    ):
        for member in sorted(source.getmembers(), key=lambda each: each.name):
            same = tarfile.TarInfo(member.name)
            same.type, same.size, same.linkname = member.type, member.size, member.linkname
            same.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            same.mtime = seconds
            target.addfile(same, source.extractfile(member) if member.isfile() else None)
    return gzip.compress(packed.getvalue(), mtime=seconds)


def differences(first: Mapping[str, bytes], second: Mapping[str, bytes]) -> list[str]:
    """What is not the same in two builds, a sentence each.

    :param first: the files of one build by their names
    """
    complaints = [f"Only one of two builds made {name}." for name in sorted(first.keys() ^ second.keys())]
    for name in sorted(first.keys() & second.keys()):
        if first[name] != second[name]:
            inside = _different_members(first[name], second[name]) if name.endswith(".whl") else []
            complaints.append(f"Two builds of {name} differ{': ' * bool(inside)}{', '.join(inside)}.")
    return complaints


def without_notice(name: str, archive: bytes) -> list[str]:
    """Which of the legal files an archive lacks, a sentence each."""
    names = {each.rpartition("/")[2] for each in _members(name, archive)}
    return [f"{name} has no {each}." for each in ("LICENSE", "NOTICE") if each not in names]


def checksums(files: Mapping[str, bytes]) -> str:
    """The list that `sha256sum --check` reads."""
    return "".join(f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n" for name in sorted(files))


def read(folder: Path) -> dict[str, bytes]:
    """The files of a folder by their names."""
    return {each.name: each.read_bytes() for each in folder.iterdir() if each.is_file()}


def _members(name: str, archive: bytes) -> list[str]:
    if name.endswith(".whl"):
        return zipfile.ZipFile(io.BytesIO(archive)).namelist()
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as source:
        return source.getnames()


def _different_members(first: bytes, second: bytes) -> list[str]:
    one, two = zipfile.ZipFile(io.BytesIO(first)), zipfile.ZipFile(io.BytesIO(second))
    names = sorted({*one.namelist(), *two.namelist()})
    return [each for each in names if _content(one, each) != _content(two, each)]


def _content(archive: zipfile.ZipFile, name: str) -> bytes | None:
    return archive.read(name) if name in archive.namelist() else None
