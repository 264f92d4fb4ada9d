"""One real Kafka broker on loopback: `python tests/e2e/servers/kafka.py`, or `with Kafka() as kafka:`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

if __name__ == "__main__":  # a script finds its own folder on the path, where kafka.py would hide the package
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from e2e.servers.foreground import run
from e2e.servers.ports import HOST, free_ports
from e2e.servers.server import JavaServer, ServerError

# One node that is broker and controller and keeps one copy of all. It lets consumer groups begin at once, and
# itself back in soon after a kill: a node may not register again before its old session is over.
_PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{host}:{controller}
listeners=PLAINTEXT://{host}:{broker},CONTROLLER://{host}:{controller}
advertised.listeners=PLAINTEXT://{host}:{broker}
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

    def __init__(self, *, port: int | None = None) -> None:
        broker, controller = free_ports(2)
        broker = port or broker
        super().__init__((broker, controller))
        self.address = f"{HOST}:{broker}"
        self._settings = self.home / "server.properties"
        self._settings.write_text(_PROPERTIES.format(host=HOST, broker=broker, controller=controller, home=self.home))

    def arguments(self) -> list[str]:
        logging = [f"{_LOGGING}defaultLogLevel=warn", f"{_LOGGING}log.kafka.server.KafkaRaftServer=info"]
        return [*logging, "kafka.Kafka", str(self._settings)]

    def start(self) -> Kafka:
        if not (self.home / "data").exists():
            self._format()
        return super().start()

    def _format(self) -> None:
        """A KRaft node starts only on a log folder that was given to a cluster."""
        tool = ["kafka.tools.StorageTool", "format", "-t", _CLUSTER_ID, "-c", str(self._settings)]
        if self.java(tool).wait() != 0:
            raise ServerError(f"kafka could not format its log folder:\n{self.log.read_text()}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Run a Kafka broker on loopback until Ctrl-C.")
    parser.add_argument("--port", type=int, default=9092)
    port: int = parser.parse_args().port
    run(lambda: Kafka(port=port), lambda kafka: f"Kafka is up at {kafka.address}")


if __name__ == "__main__":
    main()
