"""A real SkyWalking OAP on loopback: `python tests/kit/real/oap.py`, or `with Oap() as oap:`."""

from __future__ import annotations

import argparse
import shutil
import sys
import uuid
from collections.abc import Mapping
from pathlib import Path

if __name__ == "__main__":  # a script finds its own folder on the path, and imports need the tests folder
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from kit.real.foreground import run
from kit.real.ports import HOST, free_ports
from kit.real.server import JavaServer

_CONFIG = Path(__file__).resolve().parent / "oap_config"


class Oap(JavaServer):
    """Its storage is memory: restart() and kill() give an empty one on the same ports."""

    name, version, heap = "oap", "10.1.0", "1g"

    def __init__(
        self,
        *,
        kafka: str | None = None,
        token: str | None = None,
        configuration_port: int | None = None,
        grpc_port: int | None = None,
        http_port: int | None = None,
        meter_rules: Path | None = None,
    ) -> None:
        """:param configuration_port: of a `ConfigurationCentre`, on loopback
        :param meter_rules: a file of rules for meters, beside those of the Python runtime
        """
        grpc, http = free_ports(2)
        super().__init__((grpc_port or grpc, http_port or http))
        self._kafka, self._token, self._configuration_port = kafka, token, configuration_port
        self._meter_rules = meter_rules
        self._group = f"oap-{uuid.uuid4().hex}"  # two OAPs in one group would share the topics out

    @property
    def grpc_address(self) -> str:
        return f"{HOST}:{self.ports[0]}"

    @property
    def http_address(self) -> str:
        return f"{HOST}:{self.ports[1]}"

    def arguments(self) -> list[str]:
        return ["org.apache.skywalking.oap.server.starter.OAPServerStartUp"]

    def classpath(self) -> list[Path]:
        return [self.copied_config(_CONFIG) if self._meter_rules else _CONFIG, *super().classpath()]

    def copied_config(self, folder: Path) -> Path:
        """A copy of the configuration that has the rules, too, where there are any; made at the first call."""
        copy = self.home / "config"
        if not copy.exists():
            shutil.copytree(folder, copy)
            if self._meter_rules is not None:
                shutil.copy(self._meter_rules, copy / "meter-analyzer-config")
        return copy

    @property
    def rule_files(self) -> str:
        """The names of the files of rules for meters, with commas."""
        return ",".join(["python-runtime", *([self._meter_rules.stem] if self._meter_rules is not None else [])])

    def environment(self) -> Mapping[str, str]:
        """The names that oap_config/application.yml reads."""
        settings = {"OAP_GRPC_PORT": str(self.ports[0]), "OAP_HTTP_PORT": str(self.ports[1])}
        settings["OAP_TOKEN"] = self._token or ""
        settings["OAP_KAFKA_FETCHER"] = "default" if self._kafka else "-"  # "-" leaves the module out
        settings["OAP_KAFKA_SERVERS"] = self._kafka or ""
        settings["OAP_KAFKA_GROUP"] = self._group
        settings["OAP_METER_RULES"] = self.rule_files
        settings["OAP_CONFIGURATION"] = "grpc" if self._configuration_port else "none"
        settings["OAP_CONFIGURATION_PORT"] = str(self._configuration_port or 1)
        return settings


def main() -> None:
    parser = argparse.ArgumentParser(description="Run a SkyWalking OAP on loopback until Ctrl-C.")
    parser.add_argument("--kafka", metavar="HOST:PORT", help="also fetch from this broker's topics")
    parser.add_argument("--token", help="ask gRPC clients for this token")
    parser.add_argument("--grpc-port", type=int, default=11800)
    parser.add_argument("--http-port", type=int, default=12800)
    given = vars(parser.parse_args())
    run(
        lambda: Oap(**given),
        lambda oap: f"OAP is up: gRPC {oap.grpc_address}, HTTP and GraphQL http://{oap.http_address}/graphql",
    )


if __name__ == "__main__":
    main()
