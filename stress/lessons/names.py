"""httpx and aiohttp where names fail: one that does not exist, and one of which no server answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from stress.clients.command import REQUIREMENTS
from stress.environments import python_with, with_this_code

from .http import CLIENTS
from .lesson import Lesson, ratio
from .names_asking import ASKED, DEADLINE, HELD
from .program import last_line_of
from .waiting_peers import waiting_peer

ASKS: Mapping[str, str] = {
    "missing": "a name that does not exist",
    "silent": "a name of which no server answers",
    "address": "then an address",
    "other": "then another name, which exists",
}
_HEADS = ("asked", "httpx, ms", "ends by", "to its deadline", "aiohttp, ms", "ends by", "to its deadline")
Answers = Mapping[str, tuple[float, str]]
"""By what was asked: seconds, and the error's class, empty where there was an answer."""


def measure(short: bool) -> Lesson:
    """Ask in turns, each time in a new process."""
    python = python_with("clients", REQUIREMENTS)
    found: dict[str, list[Answers]] = {client: [] for client in CLIENTS}
    with waiting_peer("http", 0.0) as (address, _):
        for _ in range(1 if short else 5):
            for client, answers in found.items():
                command = [str(python), "-m", "stress.lessons.names_asking", client, address.rpartition(":")[2]]
                answers.append(last_line_of(command, with_this_code()))
    note = (
        f"{ASKED} requests at once to the silent name, the last one's time; a connection may take "
        f"{DEADLINE * 1000:g} ms. A stand-in for the system's resolver holds its thread for {HELD:g} s"
    )
    rows = [_row(ask, found) for ask in ASKS]
    return Lesson("httpx and aiohttp, names that fail", _HEADS, rows, [note], faults(found))


def _row(ask: str, found: Mapping[str, Sequence[Answers]]) -> Sequence[str]:
    row = [ASKS[ask]]
    for client in CLIENTS:
        took = median(answers[ask][0] for answers in found[client])
        kinds = sorted({answers[ask][1] or "an answer" for answers in found[client]})
        row += [f"{took * 1000:,.1f}", ", ".join(kinds), ratio(took, DEADLINE)]
    return row


def faults(found: Mapping[str, Sequence[Answers]]) -> list[str]:
    """Why the table is void: names that fail have an error, and the others an answer."""
    return [
        f"{client}, {ASKS[ask]}: {kind or 'an answer'}"
        for client, runs in found.items()
        for answers in runs
        for ask, (_, kind) in answers.items()
        if bool(kind) != (ask in ("missing", "silent"))
    ]
