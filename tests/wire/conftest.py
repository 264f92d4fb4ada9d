"""The protocol as compiled from our .proto files, and as the official agent ships it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("grpc_tools", reason="the wire tests compile the .proto files: install the `dev` extra")

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory  # type: ignore[import-untyped, unused-ignore]

PROTOCOL = Path(__file__).parents[2] / "proto_gen" / "protocol"
# The last release that ships generated descriptors, with a runtime that can load them.
OFFICIAL = ("apache-skywalking==1.2.0", "grpcio==1.71.0", "protobuf==5.29.5")
PACKAGE = "skywalking.v3"

MessageClass = Callable[[str], Any]


@pytest.fixture(scope="session")
def our_descriptors(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The FileDescriptorSet of proto_gen/protocol."""
    path = tmp_path_factory.mktemp("protocol") / "descriptors"
    protos = sorted(str(proto.relative_to(PROTOCOL)) for proto in PROTOCOL.rglob("*.proto"))
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{PROTOCOL}", f"--descriptor_set_out={path}"]
    subprocess.run([*command, *protos], check=True)
    return descriptor_pb2.FileDescriptorSet.FromString(path.read_bytes())


@pytest.fixture(scope="session")
def official_descriptors() -> Any:
    """The FileDescriptorSet of the official agent, read in a process of its own.

    Its packages never enter this environment: they pin a protobuf runtime of their own.
    """
    packages = official_packages()
    finished = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("dump_official.py")), str(packages)],
        env={**os.environ, "PYTHONPATH": str(packages), "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=packages,
        capture_output=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr.decode()
    return descriptor_pb2.FileDescriptorSet.FromString(finished.stdout)


def official_packages() -> Path:
    """A folder with the official agent, downloaded once for each Python version. Skips where it cannot be."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "swagent-tests"
    version = f"py{sys.version_info.major}{sys.version_info.minor}"
    folder = cache / "-".join([*OFFICIAL, version]).replace("==", "-")
    if folder.is_dir():
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    # Filled aside and then renamed: a run that is interrupted leaves nothing that looks complete.
    unfinished = Path(tempfile.mkdtemp(dir=cache))
    try:
        download(unfinished)
        unfinished.rename(folder)
    except OSError:
        if not folder.is_dir():  # else another run was quicker
            raise
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return folder


def download(folder: Path) -> None:
    command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--quiet", "--no-deps"]
    options = ["--retries=1", "--timeout=20", "--only-binary=:all:", f"--target={folder}"]
    finished = subprocess.run([*command, *options, *OFFICIAL], capture_output=True, text=True, check=False)
    if finished.returncode:
        reason = f"cannot download {', '.join(OFFICIAL)}: {finished.stderr.strip()[-300:]}"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)


def message_class(descriptors: Any) -> MessageClass:
    """Name -> protobuf's own class of that message."""
    pool = descriptor_pool.DescriptorPool()
    waiting = {file.name: file for file in descriptors.file}

    def add(name: str) -> None:
        if file := waiting.pop(name, None):
            for needed in file.dependency:
                add(needed)
            pool.Add(file)

    for file in descriptors.file:
        add(file.name)
    return lambda name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.{name}"))


@pytest.fixture(scope="session")
def our_class(our_descriptors: Any) -> MessageClass:
    return message_class(our_descriptors)
