"""Names for the component numbers of the agent's spans, from OAP's table."""

from __future__ import annotations

_NAMES = {
    5: "Mysql",
    6: "ORACLE",
    7: "Redis",
    9: "MongoDB",
    22: "PostgreSQL",
    23: "gRPC",
    31: "SQLite",
    40: "kafka-producer",
    41: "kafka-consumer",
    47: "Elasticsearch",
    52: "rabbitmq-producer",
    53: "rabbitmq-consumer",
    73: "pulsar-producer",
    74: "pulsar-consumer",
    94: "HBase",
    112: "Neo4j",
    3006: "SqlServer",
    7000: "Python",
    7001: "Flask",
    7002: "Requests",
    7003: "PyMysql",
    7004: "Django",
    7005: "Tornado",
    7006: "Urllib3",
    7007: "Sanic",
    7008: "AioHttp",
    7009: "Pyramid",
    7010: "Psycopg",
    7011: "Celery",
    7012: "Falcon",
    7013: "MysqlClient",
    7014: "FastAPI",
    7015: "Bottle",
    7016: "AsyncPG",
    7017: "AIORedis",
    7018: "Websockets",
    7019: "HTTPX",
}


def component_name(number: int) -> str:
    """The name; of a number that is not listed here, its digits; of none, nothing."""
    return _NAMES.get(number) or (str(number) if number else "")
