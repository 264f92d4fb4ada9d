"""An OAP that was built from source, as of a SkyWalking that is not released yet: it takes the place of the released
one where `SWAGENT_TESTS_OAP` names its folder.

The folder has `jars` (the build's own), `config` (that source's own), and `pom.xml` (the jars of others that it needs,
which Maven fetches once). It keeps what it gets in a PostgreSQL of its own.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kit.real.databases import Postgres
from kit.real.jars import UnavailableError, jars
from kit.real.oap import Oap
from kit.real.ports import HOST, free_ports

FOLDER = "SWAGENT_TESTS_OAP"
_PARTS = ("jars", "config", "pom.xml")
_CONSUMERS = "    consumers: ${SW_KAFKA_FETCHER_CONSUMERS:1}\n"
# its settings have no names for these; it would read from the end, as the released one would
_FETCHER = "    groupId: {group}\n    kafkaConsumerConfig:\n      auto.offset.reset: earliest\n"
_LEFT_OUT = (
    "RECEIVER_AWS_FIREHOSE",
    "RECEIVER_BROWSER",
    "PROMQL",
    "LOGQL",
    "SERVICE_MESH",
    "ENVOY_METRIC",
    "RECEIVER_EBPF",
)


class BuiltOap(Oap):
    """As `Oap`; its storage is made anew at each start."""

    name = "oap-built"

    def __init__(self, **options: Any) -> None:
        """:param options: of `Oap`"""
        self._built = _folder()
        self._store = Postgres(max_locks_per_transaction=256)
        self._admin_port, self._admin_grpc_port = free_ports(2)
        super().__init__(**options)

    def jars(self) -> Path:
        """Of others."""
        pom = self._built / "pom.xml"
        return jars(self.name, hashlib.sha256(pom.read_bytes()).hexdigest()[:12], pom)

    def classpath(self) -> list[Path]:
        """Its own jars come first: the configuration is a copy, as the rules and a reader's group are written there."""
        return [self._config(), self._built / "jars" / "*", self._jars / "*"]

    def _config(self) -> Path:
        copy = self.copied_config(self._built / "config")
        settings, fetcher = copy / "application.yml", _CONSUMERS + _FETCHER.format(group=self._group)
        text = settings.read_text("utf-8")
        assert _CONSUMERS in text, f"{settings} has no consumers of the Kafka fetcher"
        if fetcher not in text:
            settings.write_text(text.replace(_CONSUMERS, fetcher), "utf-8")
        return copy

    def environment(self) -> Mapping[str, str]:
        """The names that its config/application.yml reads: as in oap_config/application.yml, the modules that an agent
        reports to and the query side, with what arrives shown within seconds."""
        settings: dict[str, object] = {
            "CORE_GRPC_HOST": HOST, "CORE_GRPC_PORT": self.ports[0], "CORE_REST_HOST": HOST,
            "CORE_REST_PORT": self.ports[1], "CORE_PERSISTENT_PERIOD": 2, "SERVICE_CACHE_REFRESH_INTERVAL": 1,
            "CORE_ENABLE_DATA_KEEPER_EXECUTOR": "false", "CORE_ENABLE_ENDPOINT_NAME_GROUPING_BY_OPENAPI": "false",
            "SEARCHABLE_TAG_KEYS": "http.method,http.status_code,db.type,cache.type",
            "SEARCHABLE_LOGS_TAG_KEYS": "level,logger,thread", "LOG_LAL_FILES": "default", "LOG_MAL_FILES": "",
            "METER_ANALYZER_ACTIVE_FILES": self.rule_files,
            "STORAGE": "postgresql", "DATA_SOURCE_USER": self._store.database, "DATA_SOURCE_PASSWORD": "",
            "JDBC_URL": f"jdbc:{self._store.jdbc}?reWriteBatchedInserts=true",
            "OTEL_RECEIVER_ENABLED_OTEL_METRICS_RULES": "",
            "AUTHENTICATION": self._token or "", "TELEMETRY": "none", "ADMIN_SERVER_HOST": HOST,
            "ADMIN_SERVER_PORT": self._admin_port, "ADMIN_SERVER_GRPC_HOST": HOST,
            "ADMIN_SERVER_GRPC_PORT": self._admin_grpc_port, **dict.fromkeys(_LEFT_OUT, "-"),
        }  # fmt: skip
        if self._kafka:
            settings |= {"KAFKA_FETCHER": "default", "KAFKA_FETCHER_SERVERS": self._kafka}
            settings |= {"KAFKA_FETCHER_PARTITIONS": 1, "KAFKA_FETCHER_PARTITIONS_FACTOR": 1}
        if self._configuration_port:
            settings |= {"CONFIGURATION": "grpc", "DCS_SERVER_HOST": HOST, "DCS_SERVER_PORT": self._configuration_port}
            settings |= {"DCS_CLUSTER_NAME": "tests", "DCS_PERIOD": 1}
        return {f"SW_{name}": str(value) for name, value in settings.items()}

    def launch(self) -> subprocess.Popen[bytes]:
        """Begin with an empty storage."""
        self._store.restart_empty()
        return super().launch()

    def close(self) -> None:
        """Stop it, then its storage."""
        super().close()
        self._store.close()


def _folder() -> Path:
    folder = Path(os.environ[FOLDER])
    missing = [part for part in _PARTS if not (folder / part).exists()]
    if missing:
        raise UnavailableError(f"{FOLDER}={folder} has no {' and no '.join(missing)}")
    return folder.resolve()
