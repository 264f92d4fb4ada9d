"""The surroundings of the agent have no say in it, and get nothing of it: the environment, and child processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from faults.data.taking import taker_of
from kit.client import open_files
from kit.servers import Parrot
from swagent import Agent, Config, local_span

pytestmark = pytest.mark.anyio
over_each = pytest.mark.parametrize("transport", ["grpc", "http", "kafka"])


@over_each
async def test_proxies_and_netrc_of_the_environment_have_no_say(
    transport: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".netrc").write_text("default login somebody password hunter2\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    with Parrot() as trap, taker_of(transport) as taker:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "GRPC_PROXY", "SOCKS_PROXY"):
            for each in (name, name.lower()):
                monkeypatch.setenv(each, f"http://user:hunter2@{trap.address}")
        monkeypatch.setenv("NO_PROXY", "example.org")
        monkeypatch.setenv("no_proxy", "example.org")
        async with Agent(Config(service="shop", **taker.settings)) as agent:
            with local_span("work"):
                pass
            assert await agent.flush(5)
        assert [segment.spans[0].operation_name for segment in taker.segments] == ["work"]
        assert not trap.connected
        assert b"hunter2" not in taker.heard()


_LIST_FILES = """
import os
for name in os.listdir('/proc/self/fd'):
    try:
        print(os.readlink(f'/proc/self/fd/{name}'))
    except FileNotFoundError:
        pass
"""


def _run_child() -> str:
    command = [sys.executable, "-S", "-c", _LIST_FILES]
    return subprocess.run(command, close_fds=False, capture_output=True, text=True, check=True).stdout


@over_each
@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs Linux's /proc")
async def test_no_connection_of_the_agent_is_inherited_by_a_child_process(transport: str) -> None:
    with taker_of(transport) as taker:
        before = _sockets()
        async with Agent(Config(service="shop", **taker.settings)) as agent:
            with local_span("work"):
                pass
            assert await agent.flush(5)
            opened = _sockets() - before
            assert opened, "the agent is connected"
            inherited = await anyio.to_thread.run_sync(_run_child)
    assert not [each for each in opened if each in inherited.split("\n")]


def _sockets() -> set[str]:
    return {name for _, _, name in (each.partition(" ") for each in open_files()) if name.startswith("socket:")}
