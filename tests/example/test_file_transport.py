"""The transport that docs/transports.md explains: it keeps the promises, and it is found as the page says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from file_transport import VARIABLE, FileTransport
from swagent.config import Config
from swagent.errors import AmbiguousError
from swagent.signals import Signal
from swagent.testing import check_transport

_PAGE = Path(__file__).parents[2] / "docs" / "transports.md"
_HEAD, _TAIL = b'{"segment": ', b"}"


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "folder" / "telemetry.jsonl"
    path.parent.mkdir()
    monkeypatch.setenv(VARIABLE, str(path))
    return path


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    yield
    for thread in threads():
        thread.join(5.0)
        assert not thread.is_alive()


def connect(timeout: float = 5.0) -> FileTransport:
    config = Config(service="shop", protocol="file", request_timeout=timeout)
    return FileTransport(config, FileTransport.addresses(config)[0])


def lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines()


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "file-transport"]


def sample(number: int) -> bytes:
    return b'{"traceSegmentId":"%d"}' % number


async def run_here(function: Callable[..., Awaitable[None]], *args: Any) -> None:
    await function(*args)


class FilePeer:
    """A path, in each of the states that `check_transport` asks for."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.kept = path.parent.parent / "kept.jsonl"

    def connect(self) -> FileTransport:
        return connect(timeout=1.0)

    async def serve(self) -> None:
        self.clear()
        self.path.parent.mkdir(exist_ok=True)
        if self.kept.exists():
            self.kept.rename(self.path)

    async def refuse(self) -> None:
        await self.serve()
        self.clear()
        self.path.mkdir()

    async def hang(self) -> None:
        """A pipe without a reader: opening it for writing blocks."""
        await self.serve()
        self.clear()
        os.mkfifo(self.path)

    async def vanish(self) -> None:
        self.clear()
        self.path.parent.rmdir()

    async def received(self, signal: Signal) -> Sequence[bytes]:
        head = b'{"%b": ' % signal.value.encode()
        return [line[len(head) : -len(_TAIL)] for line in lines_of(self.path) if line.startswith(head)]

    def clear(self) -> None:
        if self.path.is_fifo():
            # a thread that still waits for a reader gets one
            os.close(os.open(self.path, os.O_RDONLY | os.O_NONBLOCK))
            self.path.unlink()
        elif self.path.is_dir():
            self.path.rmdir()
        elif self.path.exists():
            self.path.rename(self.kept)


@pytest.mark.gate
@pytest.mark.anyio
async def test_it_keeps_every_promise(path: Path) -> None:
    peer = FilePeer(path)
    await check_transport(peer, sample, run_here)
    assert all(json.loads(line) for line in lines_of(path))


@pytest.mark.anyio
async def test_a_line_that_was_cut_short_spoils_no_other(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    transport = connect()
    write = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda file, content: write(file, content[: len(content) // 2]))
        with pytest.raises(AmbiguousError):
            await transport.send(Signal.SEGMENT, [sample(1)])
    await transport.send(Signal.SEGMENT, [sample(2)])
    await transport.send(Signal.SEGMENT, [sample(3)])
    torn, *whole = lines_of(path)
    assert torn.startswith(_HEAD)
    assert whole == [_HEAD + sample(2) + _TAIL, _HEAD + sample(3) + _TAIL]


@pytest.mark.gate
def test_an_agent_finds_it_as_the_page_says(tmp_path: Path) -> None:
    """Installed as the page's pyproject.toml has it, and used by the page's program in the page's environment."""
    page = _PAGE.read_text("utf-8")
    (target,) = re.findall(r'\[project\.entry-points\."swagent\.transports"]\n(.*)\n', page)
    (variables,) = re.findall(r"```sh\n(.*) python work\.py\n```", page)
    (program,) = re.findall(r"```python\n# work\.py\n(.*?)```", page, re.DOTALL)
    info = tmp_path / "file_transport-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: file-transport\nVersion: 1.0\n", "utf-8")
    (info / "entry_points.txt").write_text(f"[swagent.transports]\n{target.replace(chr(34), '')}\n", "utf-8")
    (tmp_path / "work.py").write_text(program, "utf-8")

    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    environ |= dict(each.split("=") for each in variables.split())
    done = subprocess.run(
        [sys.executable, "work.py"], cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=50, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in lines_of(tmp_path / environ[VARIABLE])]
    assert lines[0]["properties"]["service"] == "shop"
    (segment,) = [line["segment"] for line in lines if "segment" in line]
    assert [span["operationName"] for span in segment["spans"]] == ["place order"]
    assert any("meter" in line for line in lines)
