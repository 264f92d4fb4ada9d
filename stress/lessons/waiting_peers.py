"""Peers that answer HTTP after a wait: the counting collectors, each a process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from kit.real.ports import HOST, free_ports
from stress.pipeline.process import OTHERS, Conversation, conversing


@contextmanager
def waiting_peer(kind: str, wait: float) -> Iterator[tuple[str, Conversation]]:
    """One peer: its address, and its conversation, which counts.

    :param kind: `http` or `grpc`
    :param wait: seconds before each answer
    """
    [port] = free_ports(1)
    with conversing("stress.collectors", kind, str(port), "--wait", str(wait), core=OTHERS) as conversation:
        conversation.hear()
        yield f"{HOST}:{port}", conversation


@contextmanager
def waiting_peers(count: int, wait: float) -> Iterator[list[str]]:
    """Several of HTTP: their addresses."""
    with ExitStack() as stack:
        yield [stack.enter_context(waiting_peer("http", wait))[0] for _ in range(count)]
