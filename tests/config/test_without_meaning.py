"""Every variable of the official agent is an option here, or is named once, with a reason to be had."""

from __future__ import annotations

import logging

import pytest

from swagent.config import Config, options
from swagent.config.table import render_markdown
from swagent.config.without_meaning import KAFKA_CLIENT, NAMES, reason_of, rows

# The variables of `skywalking/config.py` in apache-skywalking 1.2.0 and 1.3.0, in its order, and those of sw-python.
OFFICIAL = """
SW_AGENT_COLLECTOR_BACKEND_SERVICES SW_AGENT_PROTOCOL SW_AGENT_NAME SW_AGENT_INSTANCE_NAME SW_AGENT_NAMESPACE
SW_KAFKA_BOOTSTRAP_SERVERS SW_KAFKA_NAMESPACE SW_KAFKA_TOPIC_MANAGEMENT SW_KAFKA_TOPIC_SEGMENT SW_KAFKA_TOPIC_LOG
SW_KAFKA_TOPIC_METER SW_KAFKA_REPORTER_CUSTOM_CONFIGURATIONS SW_AGENT_FORCE_TLS SW_AGENT_AUTHENTICATION
SW_AGENT_LOGGING_LEVEL SW_AGENT_COLLECTOR_HEARTBEAT_PERIOD SW_AGENT_COLLECTOR_PROPERTIES_REPORT_PERIOD_FACTOR
SW_AGENT_INSTANCE_PROPERTIES_JSON SW_AGENT_EXPERIMENTAL_FORK_SUPPORT SW_AGENT_QUEUE_TIMEOUT
SW_AGENT_ASYNCIO_ENHANCEMENT SW_AGENT_SW_PYTHON_BOOTSTRAP_PROPAGATE SW_AGENT_SW_PYTHON_CLI_DEBUG_ENABLED
SW_AGENT_TRACE_REPORTER_MAX_BUFFER_SIZE SW_AGENT_TRACE_IGNORE_PATH SW_AGENT_IGNORE_SUFFIX
SW_CORRELATION_ELEMENT_MAX_NUMBER SW_CORRELATION_VALUE_MAX_LENGTH SW_AGENT_PROFILE_ACTIVE
SW_AGENT_COLLECTOR_GET_PROFILE_TASK_INTERVAL SW_AGENT_PROFILE_MAX_PARALLEL SW_AGENT_PROFILE_DURATION
SW_AGENT_PROFILE_DUMP_MAX_STACK_DEPTH SW_AGENT_PROFILE_SNAPSHOT_TRANSPORT_BUFFER_SIZE SW_AGENT_LOG_REPORTER_ACTIVE
SW_AGENT_LOG_REPORTER_SAFE_MODE SW_AGENT_LOG_REPORTER_MAX_BUFFER_SIZE SW_AGENT_LOG_REPORTER_LEVEL
SW_AGENT_LOG_REPORTER_IGNORE_FILTER SW_AGENT_LOG_REPORTER_FORMATTED SW_AGENT_LOG_REPORTER_LAYOUT
SW_AGENT_CAUSE_EXCEPTION_DEPTH SW_AGENT_METER_REPORTER_ACTIVE SW_AGENT_METER_REPORTER_MAX_BUFFER_SIZE
SW_AGENT_METER_REPORTER_PERIOD SW_AGENT_PVM_METER_REPORTER_ACTIVE SW_AGENT_DISABLE_PLUGINS
SW_PLUGIN_HTTP_HTTP_PARAMS_LENGTH_THRESHOLD SW_PLUGIN_HTTP_IGNORE_METHOD SW_PLUGIN_SQL_PARAMETERS_MAX_LENGTH
SW_PLUGIN_PYMONGO_TRACE_PARAMETERS SW_PLUGIN_PYMONGO_PARAMETERS_MAX_LENGTH SW_PLUGIN_ELASTICSEARCH_TRACE_DSL
SW_PLUGIN_FLASK_COLLECT_HTTP_PARAMS SW_PLUGIN_SANIC_COLLECT_HTTP_PARAMS SW_PLUGIN_DJANGO_COLLECT_HTTP_PARAMS
SW_PLUGIN_FASTAPI_COLLECT_HTTP_PARAMS SW_PLUGIN_BOTTLE_COLLECT_HTTP_PARAMS SW_PLUGIN_CELERY_PARAMETERS_LENGTH
SW_PLUGIN_GRPC_IGNORED_METHODS SW_SAMPLE_N_PER_3_SECS SW_PYTHON_PREFIX SW_PYTHON_VERSION
"""
# The arguments of a producer of kafka-python or aiokafka.
KAFKA_ARGUMENTS = """
acks allow_auto_create_topics api_version api_version_auto_timeout_ms batch_size bootstrap_timeout_ms buffer_memory
client_dns_lookup client_id compression_type connections_max_idle_ms delivery_timeout_ms enable_idempotence kafka_client
key_serializer linger_ms max_batch_size max_block_ms max_in_flight_requests_per_connection max_request_size
metadata_max_age_ms metric_reporters metrics_enabled metrics_num_samples metrics_sample_window_ms partitioner
receive_buffer_bytes receive_message_max_bytes reconnect_backoff_max_ms reconnect_backoff_ms request_timeout_ms retries
retry_backoff_ms selector send_buffer_bytes sock_chunk_buffer_count sock_chunk_bytes socket_options
transaction_timeout_ms transactional_id value_serializer
"""
# Those of them that decide who hears the records, and who may read them on the way.
KAFKA_SAFETY = """
bootstrap_servers proxy_url sasl_kerberos_domain_name sasl_kerberos_name sasl_kerberos_service_name sasl_mechanism
sasl_oauth_token_provider sasl_plain_password sasl_plain_username security_protocol socks5_proxy ssl_cafile ssl_certfile
ssl_check_hostname ssl_ciphers ssl_context ssl_crlfile ssl_keyfile ssl_password
"""

OPTIONS = {option.env for _, option in options()}
WITHOUT_MEANING = sorted(
    {*OFFICIAL.split(), *(KAFKA_CLIENT + name.upper() for name in KAFKA_ARGUMENTS.split())} - OPTIONS
)


def _records(caplog: pytest.LogCaptureFixture, **environ: str) -> list[tuple[str, str]]:
    with caplog.at_level(logging.INFO, logger="swagent"):
        Config.from_env(environ)
    return [(record.levelname, record.getMessage()) for record in caplog.records if record.name == "swagent"]


def test_every_variable_of_the_official_agent_is_an_option_or_has_a_reason() -> None:
    assert {name for name in WITHOUT_MEANING if name not in NAMES} == set()
    assert not NAMES.keys() & OPTIONS
    assert NAMES.keys() <= {*WITHOUT_MEANING}, "what no version reads is a mistake"


def test_every_reason_is_one_sentence_without_an_end() -> None:
    for name, reason in rows():
        assert name.startswith("SW_")
        assert reason
        assert not reason.endswith(".")
        assert f"| `{name}` | {reason} |" in render_markdown()


def test_many_are_named_in_one_line_of_level_info_and_no_value_is_shown(caplog: pytest.LogCaptureFixture) -> None:
    names = ", ".join(WITHOUT_MEANING)
    assert _records(caplog, **dict.fromkeys(WITHOUT_MEANING, "hunter2")) == [
        ("INFO", f"these variables are the official agent's and mean nothing here (`swagent doctor` says why): {names}")
    ]


def test_a_plugins_variable_of_tomorrow_is_no_mistake_either(caplog: pytest.LogCaptureFixture) -> None:
    ((level, line),) = _records(caplog, SW_PLUGIN_NEW_THING="1")
    assert (level, line.rpartition(" ")[2]) == ("INFO", "SW_PLUGIN_NEW_THING")


def test_an_empty_one_is_an_unset_one(caplog: pytest.LogCaptureFixture) -> None:
    assert _records(caplog, **dict.fromkeys(WITHOUT_MEANING, "")) == []


def test_the_line_follows_the_level_of_the_agents_own_lines(caplog: pytest.LogCaptureFixture) -> None:
    """The logger gets that level when the agent starts, which is later; until then it has the root logger's."""
    for level, lines in {"debug": 1, "info": 1, "warn": 0, "error": 0}.items():
        caplog.clear()
        Config.from_env({"SW_AGENT_QUEUE_TIMEOUT": "1", "SW_AGENT_LOGGING_LEVEL": level})
        assert len(caplog.records) == lines, level


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("SW_AGENT_PROFILE_ACTIV", "SW_AGENT_PROFILE_ACTIVE"),
        ("SW_AGENT_ASYNC_ENHANCEMENT", "SW_AGENT_ASYNCIO_ENHANCEMENT"),
        ("SW_AGENT_DISABLE_PLUGIN", "SW_AGENT_DISABLE_PLUGINS"),
    ],
)
def test_a_misspelled_one_is_guessed(caplog: pytest.LogCaptureFixture, wrong: str, right: str) -> None:
    assert _records(caplog, **{wrong: "1"}) == [
        ("WARNING", f"the environment variable {wrong} is not known; did you mean {right}?")
    ]


@pytest.mark.parametrize("name", KAFKA_SAFETY.split())
def test_no_safety_of_kafkas_is_called_meaningless(name: str) -> None:
    assert reason_of(KAFKA_CLIENT + name.upper()) is None
