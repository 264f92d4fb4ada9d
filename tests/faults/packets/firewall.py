"""nftables inside a namespace: what becomes of packets that come in on `lo`."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable

_TABLE = "inet faults"
_CHAIN = "{ type filter hook input priority 0; }"


class Firewall:
    """Rules of two kinds, each set anew by its method; the others stay."""

    def __init__(self) -> None:
        self._rules: dict[str, list[str]] = {}

    def swallow_connections(self, client_ports: Iterable[int]) -> None:
        """Let nothing through any more of the connections that begin at these ports, in either direction."""
        ports = "{ " + ", ".join(map(str, client_ports)) + " }"
        self._rules["connections"] = [f"tcp {side} {ports} counter drop" for side in ("sport", "dport")]
        self._apply()

    def lose(self, percent: int, server_ports: Iterable[int]) -> None:
        """Drop packets from and to these ports at random."""
        ports = "{ " + ", ".join(map(str, server_ports)) + " }"
        chance = f"numgen random mod 100 < {percent}"
        self._rules["loss"] = [f"tcp {side} {ports} {chance} counter drop" for side in ("sport", "dport")]
        self._apply()

    def heal(self) -> int:
        """Let everything through again.

        :returns: how many packets were dropped since the rules were last changed
        """
        dropped = self._dropped()
        self._rules.clear()
        self._apply()
        return dropped

    def _apply(self) -> None:
        # adding it first makes deleting it safe, and both happen at once
        lines = [f"add table {_TABLE}", f"delete table {_TABLE}", f"add table {_TABLE}"]
        lines += [f"add chain {_TABLE} incoming {_CHAIN}"]
        lines += [f"add rule {_TABLE} incoming {rule}" for rules in self._rules.values() for rule in rules]
        subprocess.run(["nft", "-f", "-"], input="\n".join(lines) + "\n", text=True, check=True)

    def _dropped(self) -> int:
        listed = subprocess.run(["nft", "-j", "list", "table", *_TABLE.split()], capture_output=True, check=True)
        rules = [each["rule"] for each in json.loads(listed.stdout)["nftables"] if "rule" in each]
        return sum(part["counter"]["packets"] for rule in rules for part in rule["expr"] if "counter" in part)
