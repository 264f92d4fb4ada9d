"""A network namespace of a test's own, in which packets can be dropped without an effect elsewhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from e2e.fixtures import give_up

# with a user namespace around it everybody may, where the kernel lets them
_UNSHARE = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--net"]
_PROBE = "ip link set lo up && nft add table inet probe"


def need_namespace() -> None:
    """Skip the test, or fail it in continuous integration, where there can be no such namespace."""
    try:
        probe = subprocess.run([*_UNSHARE, "sh", "-c", _PROBE], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        give_up("needs unshare: install util-linux")
    if probe.returncode:
        give_up(f"needs root, ip (iproute2) and nft (nftables) in a network namespace: {probe.stderr.strip()}")


def run_in_namespace(script: Path, seconds: float) -> Any:
    """Run a Python script of ours in a namespace with nothing but an interface `lo` that is up, and whose packets are
    as small as an Ethernet's.

    :param seconds: how long it may take
    :returns: what it printed, as JSON
    :raises RuntimeError: when it failed; the text has what it said
    """
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    inside = ["sh", "-c", 'ip link set lo mtu 1500 up && exec "$@"', "sh", sys.executable, str(script)]
    done = subprocess.run(
        [*_UNSHARE, *inside], env=environ, capture_output=True, text=True, timeout=seconds, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{script.name} ended with status {done.returncode}:\n{done.stderr[-5000:]}")
    return json.loads(done.stdout.splitlines()[-1])
