"""The open loop counts latency from the moment a request was due, so that no stall hides itself."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from stress.compare.arrivals import Arrivals, percentile
from stress.compare.open_loop import BrokenAnswerError, Connections, drive

_OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def test_requests_that_were_due_in_a_stall_waited_since_they_were_due() -> None:
    """One connection, ten requests a second; the server takes a second over the first and no time over the others."""
    arrivals = Arrivals(start=0.0, rate=10, seconds=2)
    arrivals.send(1, free_since=0.0, now=0.0)
    arrivals.answer(1, 1.0)
    now = 1.0
    while (due := arrivals.next_due) is not None:
        now = max(now, due)
        arrivals.send(1, free_since=now, now=now)
        arrivals.answer(1, now)
    found = arrivals.summarise(now)
    # 1000 ms, and then 900, 800 ... 100 of those that were due meanwhile; measured from its sending each would be 0
    assert found.longest == 1000
    assert found.p50 == pytest.approx(0.0)
    assert percentile(sorted(1000 * each for each in arrivals._latencies), 0.75) == pytest.approx(500)
    assert found.answered == 1.0


def test_a_request_without_an_answer_counts_as_waiting_until_the_end() -> None:
    arrivals = Arrivals(start=0.0, rate=10, seconds=1)
    arrivals.send(1, free_since=0.0, now=0.0)
    arrivals.send(2, free_since=0.0, now=0.1)
    arrivals.answer(2, 0.1)
    found = arrivals.summarise(3.0)
    assert found.answered == 0.1
    assert found.longest == 3000  # under way since 0.0
    assert found.p50 == pytest.approx(2400)  # 2100 ... 2800 of the eight that were never sent, and 0 of the answered
    assert not arrivals.is_over


def test_nothing_is_sent_before_it_is_due_nor_beyond_the_schedule() -> None:
    arrivals = Arrivals(start=0.0, rate=10, seconds=0.2)
    arrivals.send(1, free_since=0.0, now=0.0)
    with pytest.raises(AssertionError, match="not due yet"):
        arrivals.send(2, free_since=0.0, now=0.09)
    arrivals.send(2, free_since=0.0, now=0.1)
    assert arrivals.next_due is None
    arrivals.answer(1, 0.2)
    arrivals.answer(2, 0.2)
    assert arrivals.is_over


def test_the_generators_own_delay_is_kept_apart_from_the_servers() -> None:
    arrivals = Arrivals(start=0.0, rate=10, seconds=0.2)
    arrivals.send(1, free_since=0.0, now=0.0)
    arrivals.answer(1, 5.0)
    arrivals.send(1, free_since=5.0, now=5.001)  # due long ago, but there was no connection until now
    arrivals.answer(1, 5.001)
    assert arrivals.summarise(6.0).own_delay == pytest.approx(1.0)


def test_a_percentile_is_one_of_the_values() -> None:
    ordered = [float(each) for each in range(1, 101)]
    assert [percentile(ordered, share) for share in (0.0, 0.5, 0.99, 1.0)] == [1, 50, 99, 100]
    assert percentile([7.0], 0.99) == 7


@pytest.fixture
def no_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """All is answered in the end, however busy the machine is."""
    monkeypatch.setattr("stress.compare.open_loop.GRACE", 30.0)


@pytest.mark.usefixtures("no_hurry")
def test_a_real_servers_stall_is_seen_by_all_requests_that_were_due() -> None:
    with _server(stall=0.3) as port:
        connections = Connections(port, "/", count=1)
        try:
            found = drive(connections, rate=100, seconds=0.5)
        finally:
            connections.close()
    assert found.answered == 1.0
    assert found.requests == 50
    assert found.longest >= 290
    # thirty were due in the stall: from their sending, 49 of the 50 would have taken no time
    assert found.p50 >= 40


@pytest.mark.usefixtures("no_hurry")
def test_an_answer_in_pieces_is_one_answer_and_an_error_is_none() -> None:
    with _server(answer=_OK, pieces=3) as port:
        connections = Connections(port, "/", count=2)
        try:
            assert drive(connections, rate=200, seconds=0.1).answered == 1.0
        finally:
            connections.close()
    with _server(answer=b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n") as port:
        connections = Connections(port, "/", count=1)
        try:
            with pytest.raises(BrokenAnswerError, match="500 No"):
                drive(connections, rate=200, seconds=0.1)
        finally:
            connections.close()


@contextmanager
def _server(answer: bytes = _OK, *, stall: float = 0.0, pieces: int = 1) -> Iterator[int]:
    """Answers each read with one answer; the first of all after a stall."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_accept, args=(listener, answer, stall, pieces), daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


def _accept(listener: socket.socket, answer: bytes, stall: float, pieces: int) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=_answer, args=(connection, answer, stall, pieces), daemon=True).start()


def _answer(connection: socket.socket, answer: bytes, stall: float, pieces: int) -> None:
    size = -(-len(answer) // pieces)
    with connection:
        while connection.recv(65_536):
            time.sleep(stall)  # the fault itself
            stall = 0.0
            for start in range(0, len(answer), size):
                connection.sendall(answer[start : start + size])
