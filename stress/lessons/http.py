"""httpx and aiohttp: a peer that answers at once or late, with and without a proxy. No figures were published."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import NamedTuple

from kit.real.ports import HOST, free_ports
from stress.clients.command import REQUIREMENTS
from stress.environments import python_with, with_this_code
from stress.pipeline.process import OTHERS, Conversation, conversing

from .lesson import Lesson, ratio
from .program import last_line_of
from .waiting_peers import waiting_peer

CLIENTS = ("httpx", "aiohttp")
IN_FLIGHT = 32
WAIT = 0.05
_HEADS = ("the peer", "way", "httpx, a second", "aiohttp, a second", "aiohttp to httpx", "httpx, CPU us",
          "aiohttp, CPU us", "httpx to aiohttp")  # fmt: skip


class Place(NamedTuple):
    """The peer that a client asks, and whether it asks by the proxy."""

    wait: float
    by_proxy: bool


class Figure(NamedTuple):
    """Requests a second, and microseconds of processor time of one in the client."""

    rate: float
    cpu: float


Figures = Mapping[tuple[str, Place], Sequence[Figure]]
PLACES = tuple(Place(wait, by_proxy) for wait in (0.0, WAIT) for by_proxy in (False, True))


def measure(short: bool) -> Lesson:
    """Ask in turns: each place by both clients, and again."""
    requests, rounds = (200, 1) if short else (400, 3)
    python = python_with("clients", REQUIREMENTS)
    found: dict[tuple[str, Place], list[Figure]] = {(client, place): [] for place in PLACES for client in CLIENTS}
    with _peers() as addresses, _proxy() as (proxy, conversation):
        for _ in range(rounds):
            for client, place in found:
                way = (client, f"http://{addresses[place.wait]}/item", proxy if place.by_proxy else "")
                found[client, place].append(_ask(python, *way, str(IN_FLIGHT), str(requests)))
        carried: int = conversation.ask("")
    note = (
        f"{IN_FLIGHT} requests in flight, the medians of rounds in turns; the proxy is a small one on loopback, and "
        f"has carried {carried:,} connections"
    )
    rows = [_row(place, found) for place in PLACES]
    return Lesson("httpx and aiohttp, slow peers and a proxy", _HEADS, rows, [note], faults(found, carried))


@contextmanager
def _peers() -> Iterator[Mapping[float, str]]:
    with waiting_peer("http", 0.0) as (quick, _), waiting_peer("http", WAIT) as (slow, _):
        yield {0.0: quick, WAIT: slow}


@contextmanager
def _proxy() -> Iterator[tuple[str, Conversation]]:
    [port] = free_ports(1)
    with conversing("stress.lessons.forwarding", str(port), core=OTHERS) as conversation:
        conversation.hear()
        yield f"http://{HOST}:{port}", conversation


def _ask(python: Path, *arguments: str) -> Figure:
    command = [str(python), "-m", "stress.lessons.http_asking", *arguments]
    return Figure(**last_line_of(command, with_this_code()))


def _row(place: Place, found: Figures) -> Sequence[str]:
    rates, costs = ([median(each[field] for each in found[name, place]) for name in CLIENTS] for field in (0, 1))
    peer = f"waits {place.wait * 1000:g} ms" if place.wait else "answers at once"
    return (
        peer, "by a proxy" if place.by_proxy else "direct",
        *(f"{each:,.0f}" for each in rates), ratio(rates[1], rates[0]),
        *(f"{each:,.0f}" for each in costs), ratio(costs[0], costs[1]),
    )  # fmt: skip


def faults(found: Figures, carried: int) -> list[str]:
    """Why the table is void: a wait bounds the rate, and what goes by a proxy is carried by it."""
    runs = sum(len(figures) for (_, place), figures in found.items() if place.by_proxy)
    missing = [f"the proxy has carried {carried} connections of {runs} runs"] if carried < runs else []
    return missing + [
        f"{client}, {place.wait * 1000:g} ms: {figure.rate:,.0f} a second"
        for (client, place), figures in found.items()
        for figure in figures
        if place.wait and figure.rate > IN_FLIGHT / place.wait
    ]
