"""A collector in a process of its own, to be killed and frozen: notes the name of every record, and confirms.

python -m stress.soak.sink_process grpc|http|profiles PORT:FILE...

`profiles` is gRPC, with profile tasks.

What came is noted before the call's end, as collectors work on a record at once: a call that breaks later does not take
it back.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from grpclib.const import Cardinality, Handler
from grpclib.server import Server, Stream

import stress  # noqa: F401  (lets the next lines find the tests' peers)
from kit.http_answers import confirm
from kit.http_peer import Call, HttpPeer
from stress.soak.orphans import end_with_the_run
from stress.soak.profiling import tasks_for
from stress.soak.record_names import as_lines, meters_name, name_of
from swagent.collector.intake.codec import RawCodec
from swagent.signals import Signal

_GRPC_PATHS = {
    "/skywalking.v3.TraceSegmentReportService/collect": Signal.SEGMENT,
    "/skywalking.v3.LogReportService/collect": Signal.LOG,
    "/skywalking.v3.EventService/collect": Signal.EVENT,
    "/skywalking.v3.MeterReportService/collect": Signal.METER,
    "/skywalking.v3.ManagementService/reportInstanceProperties": None,
    "/skywalking.v3.ManagementService/keepAlive": None,
}
_PROFILE_PATHS = {
    "/skywalking.v3.ProfileTask/collectSnapshot": Signal.PROFILE,
    "/skywalking.v3.ProfileTask/reportTaskFinish": None,
}
_TASKS = "/skywalking.v3.ProfileTask/getProfileTaskCommands"
_HTTP_PATHS = {"/v3/segments": Signal.SEGMENT, "/v3/logs": Signal.LOG, "/v3/events": Signal.EVENT}


class Notes:
    """The file of one cell."""

    def __init__(self, path: str) -> None:
        self._file = Path(path).open("ab", buffering=0)  # noqa: SIM115  (open until the process is killed)

    def add(self, signal: Signal, *names: str) -> None:
        """Written in one piece: a kill leaves no half line."""
        self._file.write(as_lines(signal, names))


class Intake:
    """All services of the collect protocol, as one."""

    def __init__(self, notes: Notes, *, has_profiles: bool) -> None:
        self._notes = notes
        self._has_profiles = has_profiles

    def __mapping__(self) -> dict[str, Handler]:
        paths = {**_GRPC_PATHS, **(_PROFILE_PATHS if self._has_profiles else {})}
        found = {path: self._handler(signal) for path, signal in paths.items()}
        if self._has_profiles:
            found[_TASKS] = Handler(_give_tasks, Cardinality.UNARY_UNARY, bytes, bytes)
        return found

    def _handler(self, signal: Signal | None) -> Handler:
        async def take(stream: Stream[bytes, bytes]) -> None:
            meters: list[bytes] = []
            async for message in stream:
                if signal is Signal.METER:
                    meters.append(message)
                elif signal is not None:
                    self._notes.add(signal, name_of(message))
            if meters:
                # a period's meters count when all of them are there
                self._notes.add(Signal.METER, meters_name(meters))
            await stream.send_message(b"")

        return Handler(take, Cardinality.STREAM_UNARY, bytes, bytes)


async def _give_tasks(stream: Stream[bytes, bytes]) -> None:
    question = await stream.recv_message()
    await stream.send_message(tasks_for(question or b""))


class NotingPeer(HttpPeer):
    """OAP's REST port."""

    def __init__(self, port: int, notes: Notes) -> None:
        super().__init__(self._take)
        self._port = port
        self._notes = notes

    async def _take(self, call: Call) -> None:
        # kept for tests, which are short
        self.calls.clear()
        self.links.clear()
        if not call.is_complete:
            return
        if (signal := _HTTP_PATHS.get(call.path)) is not None:
            self._notes.add(signal, *(name_of(record) for record in split_array(bytes(call.body).decode())))
        await confirm(call)


def split_array(text: str) -> Sequence[bytes]:
    """The elements of a JSON array, byte for byte."""
    decoder, position, found = json.JSONDecoder(), 1, []
    while position < len(text) and text[position] != "]":
        _, end = decoder.raw_decode(text, position)
        found.append(text[position:end].encode())
        position = end + (text[end] == ",")
    return found


async def _serve_grpc(places: list[tuple[int, Notes]], *, has_profiles: bool) -> None:
    servers: list[Any] = []
    for port, notes in places:
        servers.append(Server([Intake(notes, has_profiles=has_profiles)], codec=RawCodec()))
        await servers[-1].start("127.0.0.1", port)
    await asyncio.Event().wait()


def _serve_http(places: list[tuple[int, Notes]]) -> None:
    with ExitStack() as stack:
        for port, notes in places:
            stack.enter_context(NotingPeer(port, notes))
        threading.Event().wait()


def main(protocol: str, *given: str) -> None:
    """Serve until killed."""
    end_with_the_run()
    logging.basicConfig(level=logging.CRITICAL)
    places = [(int(port), Notes(path)) for port, _, path in (each.partition(":") for each in given)]
    if protocol == "http":
        _serve_http(places)
    else:
        asyncio.run(_serve_grpc(places, has_profiles=protocol == "profiles"))


if __name__ == "__main__":
    main(*sys.argv[1:])
