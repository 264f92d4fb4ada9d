"""One real Kafka broker on loopback: `with Kafka() as kafka:`."""

from __future__ import annotations

import resource
from collections.abc import Mapping

from kit.real.ports import HOST, free_ports
from kit.real.server import JavaServer, ServerError

# One node that is broker and controller and keeps one copy of all. It lets consumer groups begin at once, and
# itself back in soon after a kill: a node may not register again before its old session is over.
_PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{host}:{controller}
listeners=PLAINTEXT://{address},CONTROLLER://{host}:{controller}
advertised.listeners=PLAINTEXT://{address}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name=PLAINTEXT
controller.listener.names=CONTROLLER
log.dirs={home}/data
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
"""
_LOGGING = "-Dorg.slf4j.simpleLogger."
_CLUSTER_ID = "swagent-tests-cluster1"  # any 16 bytes in URL-safe base64


class Kafka(JavaServer):
    """Its topics outlive restart() and kill(); they go with close()."""

    name, version, heap = "kafka", "3.9.1", "512m"
    ready_line = "Kafka Server started"  # its ports are open a little earlier

    def __init__(self, *, port: int | None = None, properties: Mapping[str, str] | None = None) -> None:
        """:param properties: more of the broker's own, by their names"""
        broker, controller = free_ports(2)
        broker = port or broker
        super().__init__((broker, controller))
        self.address = f"{HOST}:{broker}"
        self._settings = self.home / "server.properties"
        text = _PROPERTIES.format(host=HOST, controller=controller, home=self.home, address=self.address)
        self._settings.write_text(text + "".join(f"{name}={value}\n" for name, value in (properties or {}).items()))

    def arguments(self) -> list[str]:
        logging = [f"{_LOGGING}defaultLogLevel=warn", f"{_LOGGING}log.kafka.server.KafkaRaftServer=info"]
        return [*logging, "kafka.Kafka", str(self._settings)]

    def start(self) -> Kafka:
        if not (self.home / "data").exists():
            self._format()
        return super().start()

    def fill_disk(self, room: int) -> None:
        """From now on no file grows more than so many bytes beyond the largest log, as where a disk is full."""
        if self._process is not None:
            largest = max(each.stat().st_size for each in [self.log, *self.home.glob("data/*/*.log")])
            resource.prlimit(self._process.pid, resource.RLIMIT_FSIZE, (largest + room, largest + room))

    def _format(self) -> None:
        """A KRaft node starts only on a log folder that was given to a cluster."""
        tool = ["kafka.tools.StorageTool", "format", "-t", _CLUSTER_ID, "-c", str(self._settings)]
        if self.java(tool).wait() != 0:
            raise ServerError(f"kafka could not format its log folder:\n{self.log.read_text()}")
