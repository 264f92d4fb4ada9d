"""The variables of the official Python agent that mean nothing here, each with the reason.

They are no mistakes of their user's: one line names those that are set, and `swagent doctor` says the reasons. With
the option table this covers every variable that versions 1.2 and 1.3 of that agent read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

# The rest of such a name is an argument of the Kafka client. The official agent wants it in lower case, any case will
# do.
KAFKA_CLIENT = "SW_KAFKA_REPORTER_CONFIG_"

_NO_PLUGIN = "no instrumentation here has such a setting"
_BY_SW_PYTHON = "`sw-python` sets it for the processes that it starts; `swagent run` takes its place"
_BATCHES = "a batch goes out when it is full or half a second old"
_OWN_RETRIES = "the agent itself decides what is sent again and when; see SW_AGENT_DELIVERY"
_OWN_BOUNDS = "the agent's own bounds hold: SW_AGENT_TRACE_REPORTER_MAX_BUFFER_SIZE and its like"
_OBJECT = "its value is a Python object, which a variable cannot hold"
_CLIENTS_OWN = "the Kafka client's own default is kept"

_AGENT: dict[str, str] = {
    "SW_AGENT_ASYNCIO_ENHANCEMENT": "the agent always runs in an event loop",
    "SW_AGENT_EXPERIMENTAL_FORK_SUPPORT": "`swagent run` follows forked workers without a switch",
    "SW_AGENT_QUEUE_TIMEOUT": _BATCHES,
    "SW_AGENT_SW_PYTHON_BOOTSTRAP_PROPAGATE": "the Python processes that a command starts under `swagent run` always "
    "have the agent, too",
    "SW_AGENT_SW_PYTHON_CLI_DEBUG_ENABLED": "`swagent run` has nothing to debug; see SW_AGENT_LOGGING_LEVEL",
    "SW_PYTHON_PREFIX": _BY_SW_PYTHON,
    "SW_PYTHON_VERSION": _BY_SW_PYTHON,
    "SW_KAFKA_REPORTER_CUSTOM_CONFIGURATIONS": f"the official agent does not use it either; see {KAFKA_CLIENT}*",
}

# Those arguments of a Kafka producer that have nothing to do with its safety. Any other one that is not an option
# fails the start: ignored, it might leave a connection less safe than its user believes.
_KAFKA: dict[str, str] = {
    "ACKS": "a batch counts as confirmed when all replicas have it",
    "ENABLE_IDEMPOTENCE": _OWN_RETRIES,
    "RETRIES": _OWN_RETRIES,
    "RETRY_BACKOFF_MS": _OWN_RETRIES,
    "RECONNECT_BACKOFF_MS": _OWN_RETRIES,
    "RECONNECT_BACKOFF_MAX_MS": _OWN_RETRIES,
    "DELIVERY_TIMEOUT_MS": "see SW_AGENT_REQUEST_TIMEOUT",
    "BOOTSTRAP_TIMEOUT_MS": "see SW_AGENT_REQUEST_TIMEOUT",
    "MAX_BLOCK_MS": "see SW_AGENT_REQUEST_TIMEOUT",
    "BATCH_SIZE": f"see {KAFKA_CLIENT}MAX_BATCH_SIZE",
    "MAX_REQUEST_SIZE": f"see {KAFKA_CLIENT}MAX_BATCH_SIZE",
    "LINGER_MS": _BATCHES,
    "BUFFER_MEMORY": _OWN_BOUNDS,
    "MAX_IN_FLIGHT_REQUESTS_PER_CONNECTION": _OWN_BOUNDS,
    "TRANSACTIONAL_ID": "records are not sent in transactions",
    "TRANSACTION_TIMEOUT_MS": "records are not sent in transactions",
    "KEY_SERIALIZER": _OBJECT,
    "VALUE_SERIALIZER": _OBJECT,
    "PARTITIONER": _OBJECT,
    "SELECTOR": _OBJECT,
    "SOCKET_OPTIONS": _OBJECT,
    "METRIC_REPORTERS": _OBJECT,
    "KAFKA_CLIENT": _OBJECT,
    "METRICS_ENABLED": "the agent's own meters count the verdicts of its records",
    "METRICS_NUM_SAMPLES": "the agent's own meters count the verdicts of its records",
    "METRICS_SAMPLE_WINDOW_MS": "the agent's own meters count the verdicts of its records",
    "ALLOW_AUTO_CREATE_TOPICS": "whether a missing topic is made is the broker's to decide",
    "API_VERSION": "the brokers report their version themselves",
    "API_VERSION_AUTO_TIMEOUT_MS": "the brokers report their version themselves",
    "CLIENT_DNS_LOOKUP": _CLIENTS_OWN,
    "CONNECTIONS_MAX_IDLE_MS": _CLIENTS_OWN,
    "METADATA_MAX_AGE_MS": _CLIENTS_OWN,
    "RECEIVE_BUFFER_BYTES": _CLIENTS_OWN,
    "RECEIVE_MESSAGE_MAX_BYTES": _CLIENTS_OWN,
    "SEND_BUFFER_BYTES": _CLIENTS_OWN,
    "SOCK_CHUNK_BYTES": _CLIENTS_OWN,
    "SOCK_CHUNK_BUFFER_COUNT": _CLIENTS_OWN,
}

NAMES: Mapping[str, str] = {**_AGENT, **{KAFKA_CLIENT + name: reason for name, reason in _KAFKA.items()}}
"""Name and reason. Kafka's are in upper case."""

_PREFIXES: dict[str, str] = {"SW_PLUGIN_": _NO_PLUGIN, "SW_PYTHON_": _BY_SW_PYTHON}


def reason_of(name: str) -> str | None:
    """Why this variable means nothing here; None: it is not one of these."""
    reasons = (reason for prefix, reason in _PREFIXES.items() if name.startswith(prefix))
    return NAMES.get(name) or next(reasons, None)


def rows() -> Iterator[tuple[str, str]]:
    """The rows of the documentation: every name with its reason, the beginnings of names last."""
    yield from NAMES.items()
    for prefix, reason in _PREFIXES.items():
        yield f"{prefix}*", reason
