"""Where the agents of a namespace report to: one peer for each transport, and what it has got."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import ExitStack
from types import TracebackType

import anyio
from typing_extensions import Self

from kit.http_answers import confirm
from kit.http_peer import HttpPeer
from kit.kafka_cluster import Cluster
from kit.loop_thread import LoopThread
from kit.real.kafka import Kafka
from kit.servers import collector_thread
from swagent.collector.store.trace_records import Segment


class Peers:
    """The embedded collector, an HTTP peer that confirms all, and a real broker, as a `with` block."""

    def __init__(self) -> None:
        self._ends = ExitStack()
        self._by_grpc: Counter[str] = Counter()

    def __enter__(self) -> Self:
        self._collector, _ = self._ends.enter_context(collector_thread())
        self._collector.store.subscribe(self._note)
        self._http = self._ends.enter_context(HttpPeer(confirm))
        kafka = self._ends.enter_context(Kafka())
        self._cluster = Cluster(kafka, self._ends.enter_context(LoopThread()))
        anyio.run(self._cluster.create_topics)
        self.addresses = {
            "grpc": self._collector.address, "http": self._http.address, "kafka": kafka.address
        }  # fmt: skip
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ends.close()

    @property
    def ports(self) -> list[int]:
        return [int(address.rpartition(":")[2]) for address in self.addresses.values()]

    def settings(self, transport: str, *before: str) -> dict[str, object]:
        """The settings that lead an agent there.

        :param before: addresses that it is to try before
        """
        where = [*before, self.addresses[transport]]
        if transport != "kafka":
            return {"protocol": transport, "collector": ",".join(where)}
        return {
            "protocol": transport, "kafka_bootstrap_servers": where, "kafka_namespace": self._cluster.namespace
        }  # fmt: skip

    def seen(self) -> dict[str, Counter[str]]:
        """How often each segment has come, by transport."""
        posted = [call for call in self._http.calls if call.is_complete and call.path == "/v3/segments"]
        stored = anyio.run(self._cluster.records, self._cluster.topic("segments"))
        return {
            "grpc": self._by_grpc,
            "http": Counter(each["traceSegmentId"] for call in posted for each in json.loads(bytes(call.body))),
            "kafka": Counter((key or b"").decode() for key, _ in stored),
        }

    def _note(self, record: object) -> None:
        if isinstance(record, Segment):
            self._by_grpc[record.segment_id] += 1
