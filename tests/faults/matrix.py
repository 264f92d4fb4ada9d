"""The fault matrix: what can go wrong around the agent, over which transports and on which event loops.

One table. Tests say which of its cells they prove (`covering.covers`, `covering.each_cell`), and `python
tests/faults/matrix_page.py` writes docs/faults.md from both. A cell without a test shows there, and fails `make check`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

TRANSPORTS: Mapping[str, str] = {"G": "grpc", "H": "http", "K": "kafka"}
BACKENDS: Mapping[str, str] = {"A": "asyncio", "U": "uvloop", "T": "trio"}
# Rows about the agent itself, whatever carries its records.
ANY = "any"
# Where no event loop runs; no row asks for it, and it proves no loop's cell.
NO_LOOP = "no loop"

Cell = tuple[str, str]  # transport, backend


@dataclass(frozen=True)
class Fault:
    """One row.

    :ivar holds: the contract's clauses that must hold, as docs/contract.md numbers them, and what else
    :ivar left_out: why a transport (`"K"`), a backend (`"T"`) or one cell (`"K/T"`) has no meaning here
    """

    id: str
    name: str
    how: str
    holds: str
    is_any: bool = False
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def transports(self) -> tuple[str, ...]:
        return (ANY,) if self.is_any else tuple(TRANSPORTS.values())

    def reason_against(self, transport: str, backend: str) -> str | None:
        """Why a cell is left out; None: it must be covered."""
        letters = {name: letter for letter, name in {**TRANSPORTS, **BACKENDS}.items()}
        row, column = letters.get(transport, "-"), letters[backend]
        for key in (f"{row}/{column}", row, column):
            if key in self.left_out:
                return self.left_out[key]
        return None

    def cells(self) -> Iterator[Cell]:
        """The cells that must be covered."""
        for transport in self.transports:
            for backend in BACKENDS.values():
                if self.reason_against(transport, backend) is None:
                    yield transport, backend


_HTTP2_ONLY = {"H": "HTTP/2 only", "K": "HTTP/2 only"}

FAULTS: tuple[Fault, ...] = (
    # -- network and peer ---------------------------------------------------------------------------------------------
    Fault("F01", "nothing listens, then starts", "the port is bound late",
          "G4, G12: records wait; the first is confirmed within 31 s; one log line"),
    Fault("F02", "SYN black hole", "a listener whose backlog is full",
          "G3, G4, G7: connecting ends at its deadline; the next collector is tried"),
    Fault("F03", "DNS: unknown name, slow, changed address", "a resolver of the test's own",
          "G3: never on the loop; asked again at each dial"),
    Fault("F04", "accepts, never speaks", "a TCP server that only listens", "G7: stop takes 5.5 s at most"),
    Fault("F05", "speaks, never answers", "a peer that takes requests and is silent; OAP and broker under SIGSTOP",
          "G4, G7, bounds: ambiguous, the next collector is used, memory stays within its bound"),
    Fault("F06", "half-open established connection", "nftables drops one connection in a namespace",
          "G12: the call after the first deadline goes through"),
    Fault("F07", "reset or end before, amid and after each write", "the proxy's limit at every byte offset of a batch",
          "identity; no duplicate; each record has exactly one verdict"),
    Fault("F08", "latency, jitter, little bandwidth", "the proxy", "identity, G3; slower, nothing lost"),
    Fault("F09", "one byte at a time; frames run together", "the proxy", "the same result as without"),
    Fault("F10", "random packet loss", "nftables `numgen` in a namespace", "identity, G12"),
    Fault("F11", "GOAWAY: graceful, last stream 0, ENHANCE_YOUR_CALM", "a peer at HTTP/2 level",
          "calls up to the last stream finish; those above go back to the channel; 5 s of rest where calm is asked for",
          left_out=_HTTP2_ONLY),
    Fault("F12", "unknown frame, ALTSVC, PUSH_PROMISE, 1xx, PRIORITY, floods of SETTINGS and PING, HPACK bomb",
          "a peer at HTTP/2 level",
          "G1, G4: ignored, or a clean end; at most 4 MiB more; the application's handlers hear nothing",
          left_out=_HTTP2_ONLY),
    Fault("F13", "reply too large, compression bomb, endless headers and trailers", "peers that answer too much",
          "bounds: at most 2 MiB more, and at Kafka, whose clusters may be large, the reply's own 16 MiB"),
    Fault("F14", "another protocol on the port, HTML 502, garbage, empty 200, wrong content type, no trailers",
          "peers that answer wrongly",
          "classified by docs/contract.md; over gRPC and Kafka another protocol hears neither token nor records"),
    Fault("F15", "every status and error code at every moment; every Retry-After and RetryInfo",
          "peers that answer as the test says",
          "the status table of docs/contract.md; pauses clamped to 60 s"),
    Fault("F16", "window stuck at 0; MAX_CONCURRENT_STREAMS 0 and 1", "a peer at HTTP/2 level",
          "bounds, G7: the deadline ends it", left_out=_HTTP2_ONLY),
    Fault("F17", "TLS: self-signed, expired, wrong host, no ALPN, stalled handshake, renewed authority, "
          "plaintext on a TLS port", "authorities of the test's own (trustme)",
          "G14: only the verified peer gets the token, or the password"),
    Fault("F18", "wrong token", "a real OAP with a token", "rejected; paused 60 s; one log line",
          left_out={"H": "OAP checks no token over HTTP", "K": "OAP checks no token over Kafka"}),
    Fault("F19", "flapping collector; many agents after an outage", "virtual time; the proxy",
          "G12: attempts within the backoff's envelope and spread; repeats at most a tenth"),
    Fault("F20", "three collectors: first dead, active killed under load, all dead, first back", "proxies",
          "the next collector is in use within 6 s; no duplicate",
          left_out={"K": "brokers are one cluster: the client library finds the living ones"}),
    Fault("F21", "OAP killed and started again", "a real OAP, `kill -9`",
          "G12: every confirmed segment is found by its query, or fell with the process that confirmed it",
          left_out={"K": "OAP reads from the broker by itself"}),
    Fault("F22", "broker killed, frozen, its disk full", "a real broker",
          "identity against a consumer that reads from the first offset",
          left_out={"G": "Kafka only", "H": "Kafka only"}),
    # -- process ------------------------------------------------------------------------------------------------------
    Fault("P01", "SIGTERM: idle, under load, with an open stream", "real servers in processes of their own",
          "G7; what was answered is at the collector"),
    Fault("P02", "SIGINT twice", "real servers in processes of their own", "G8; no traceback of swagent"),
    Fault("P03", "SIGKILL at random moments under load", "a process that is killed, a collector that counts",
          "at most a second of records and one batch are missing; nothing arrives torn or twice"),
    Fault("P04", "gunicorn with uvicorn workers (TERM, HUP, max requests, timeout, preload), uvicorn with workers, "
          "hypercorn", "real servers in processes of their own", "one instance a worker; no duplicate; nothing left"),
    Fault("P05", "os.fork, multiprocessing fork, spawn and forkserver, subprocess, amid load",
          "processes of the test's own", "G11; the parent is unhurt"),
    Fault("P06", "the interpreter ends without leaving the agent", "sys.exit, an error, a closed loop, os._exit",
          "no hang, no complaint; on trio every program leaves what it has entered, or trio ends it"),
    Fault("P07", "the process is stopped and goes on; the wall clock jumps", "SIGSTOP; clocks of the test's own",
          "no burst; no negative time; timers do not follow the wall clock"),
    Fault("P08", "no descriptors left; no memory to spare; stderr closed; no new threads",
          "setrlimit; threads that are refused; memory measured",
          "G1, G4, bounds: records wait, and go out once they can; 41 MiB more at most"),
    Fault("P09", "a thousand starts and stops; two agents; started twice", "in one process",
          "G10: no task, thread, descriptor or megabyte is left"),
    Fault("P10", "SIGKILL with records on disk, amid their delivery", "a process that is killed, and its next start",
          "what is on disk is sent, in order, and nothing twice; what was under way is ambiguous"),
    # -- concurrency --------------------------------------------------------------------------------------------------
    Fault("C01", "cancelled at every suspension point: start, steady, reconnect, flush, stop",
          "the agent's steps are counted, and each is the one that is cancelled", "identity, G8, G10"),
    Fault("C02", "the same by a native `task.cancel()`", "as above", "identity, G8, G10",
          left_out={"T": "trio has no cancellation but scopes"}),
    Fault("C03", "a stray CancelledError, ExceptionGroup, OSError or MemoryError at every await", "as above",
          "G5: the application's body goes on"),
    Fault("C04", "the application blocks its loop; ten thousand tasks; eight threads that record", "in one process",
          "identity; an answer that waits in the socket counts; no storm of reconnecting"),
    Fault("C05", "re-entrancy: logging inside recording, encoding and sending; objects that log, raise, recurse, sleep",
          "in one process", "G1; no deadlock; nothing about itself", is_any=True),
    Fault("C06", "a finaliser or a signal handler records", "in one process", "G1, G2; no deadlock", is_any=True),
    # -- data ---------------------------------------------------------------------------------------------------------
    Fault("D01", "hostile headers", "forty kinds, their mutations, and whatever else comes",
          "G1: the application's own status; a new trace",
          is_any=True),
    Fault("D02", "poison records: lone surrogates, int32 overflow, None, 10 MB tags, 5,000 spans",
          "each kind through the whole agent, with neighbours; property tests of the encoders",
          "G1: that record alone is refused, or cut with a mark; what arrives is well-formed"),
    Fault("D03", "a million endpoints, meter names, methods, peers", "in one process",
          "bounds: capped, and counted under an overflow name", is_any=True),
    Fault("D04", "hostile commands: unknown, a million, replayed, a profile of 100 years, names like paths",
          "peers that answer so", "ignored; nothing is executed, no file is named",
          left_out={"K": "Kafka carries no commands"}),
    Fault("D05", "round trip", "a real OAP, read back by its query", "the same trace tree, references, tags and logs"),
    Fault("D06", "more segments than the collector takes, for long", "a collector that takes none; simulated services",
          "identity, bounds: errors, slow requests and whole traces are kept; the rest is refused as shed",
          is_any=True),
    Fault("D07", "records on disk: a full disk, the bound, torn ends, changed bytes, nothing can be written or removed",
          "a disk in memory that fails as the test says; a folder of the test's own",
          "identity, G4: what has no room is refused, torn ends are cut, what cannot be read is counted as lost",
          is_any=True),
    # -- release and time ---------------------------------------------------------------------------------------------
    Fault("R01", "the wheel, alone, in an empty environment", "an environment of its own",
          "it imports and delivers one segment"),
    Fault("S01", "random faults under load for minutes to hours", "`python -m stress soak`",
          "identity, no duplicate, every request answered; memory and descriptors do not grow"),
)  # fmt: skip

BY_ID: Mapping[str, Fault] = {fault.id: fault for fault in FAULTS}
