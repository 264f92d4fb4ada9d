"""What a user can set: one table, read from code or from the environment.

Names and meanings of `SW_` variables are the official Python agent's wherever it has the option; swagent's own stand
beside them. Every field of `Config` carries its line of the table as metadata, and that line alone decides how
the environment is read, what is allowed and what the documentation says.
"""

from __future__ import annotations

import dataclasses
import difflib
import logging
import os
import re
import socket
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .errors import ConfigError
from .options import (
    Address,
    Option,
    Secret,
    between,
    check_bool,
    check_filled,
    check_layout,
    check_level,
    check_list,
    check_object,
    check_secret,
    check_text,
    one_of,
    parse_address,
    parse_bool,
    parse_list,
    parse_object,
)

log = logging.getLogger("swagent")

# What the official agent reads and swagent has no use for, or not yet: known, so not a spelling mistake.
_OFFICIAL_ONLY = (
    "SW_AGENT_ASYNCIO_ENHANCEMENT", "SW_AGENT_EXPERIMENTAL_FORK_SUPPORT", "SW_AGENT_QUEUE_TIMEOUT",
    "SW_AGENT_SW_PYTHON_", "SW_AGENT_DISABLE_PLUGINS", "SW_PLUGIN_", "SW_AGENT_PROFILE_",
    "SW_AGENT_COLLECTOR_GET_PROFILE_TASK_INTERVAL", "SW_KAFKA_REPORTER_CUSTOM_CONFIGURATIONS",
)  # fmt: skip
# What stands behind it is an argument of the Kafka client. The official agent wants it in lower case, any case will do.
_KAFKA_CLIENT = "SW_KAFKA_REPORTER_CONFIG_"


def _option(
    default: Any,
    env: str,
    help: str,  # noqa: A002  (the word every option table uses)
    allowed: str,
    check: Callable[[Any], Any],
    parse: Callable[[str], Any] = str,
    *,
    secret: bool = False,
) -> Any:
    metadata = {"option": Option(env, help, allowed, parse, check, secret)}
    if callable(default):
        return dataclasses.field(default_factory=default, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def _number(default: float, env: str, help: str, low: float, high: float) -> Any:  # noqa: A002
    kind: type[int | float] = int if isinstance(default, int) else float
    allowed = f"{'an integer' if kind is int else 'a number'} from {low:g} to {high:g}"
    return _option(default, env, help, allowed, between(kind, low, high), kind)


def _text(default: str, env: str, help: str) -> Any:  # noqa: A002
    return _option(default, env, help, "any text", check_text)


def _choice(default: str, env: str, help: str, *choices: str) -> Any:  # noqa: A002
    return _option(default, env, help, ", ".join(choices), one_of(*choices))


def _flag(default: bool, env: str, help: str) -> Any:  # noqa: A002
    return _option(default, env, help, "true or false", check_bool, parse_bool)


def _unset_flag(env: str, help: str) -> Any:  # noqa: A002
    """Three states: wanted, not wanted, and None, which leaves it to the transport."""
    return _option(
        None,
        env,
        help,
        "true or false; unset: where the transport carries it",
        lambda value: value if value is None else check_bool(value),
        parse_bool,
    )


def _list(default: str, env: str, help: str) -> Any:  # noqa: A002
    return _option(parse_list(default), env, help, "comma-separated texts", check_list, parse_list)


def _kafka_name(default: str, env: str, help: str) -> Any:  # noqa: A002
    allowed = f"{'1' if default else '0'} to 200 of: letters, digits, dots, underscores, hyphens"
    return _option(default, env, help, allowed, _check_topic if default else _check_kafka_name)


def _check_kafka_name(value: Any) -> str:
    """A part of a topic's name; all of it may have 249 characters."""
    if not re.fullmatch(r"[A-Za-z0-9._-]{0,200}", check_text(value).strip()):
        raise ValueError(value)
    return check_text(value).strip()


def _check_topic(value: Any) -> str:
    return _check_kafka_name(check_filled(value))


def _check_servers(value: Any) -> tuple[str, ...]:
    """Addresses without a scheme; 9092 is the port where none is given."""
    texts = [text if re.search(r":[0-9]+$", text) else f"{text}:9092" for text in check_list(value)]
    if not texts or any("://" in text for text in texts):
        raise ValueError(value)
    return tuple(str(parse_address(text)) for text in texts)


def _check_password(value: Any) -> Secret:
    """NUL separates the parts of a SASL message."""
    text = value.reveal() if isinstance(value, Secret) else check_text(value)
    if "\0" in text:
        raise ValueError("***")
    return Secret(text)


def _new_instance_name() -> str:
    return f"{uuid.uuid4().hex}@{socket.gethostname()}"


@dataclass(frozen=True, kw_only=True)
class Config:
    """Everything that a user can set, checked.

    `Config(service="shop", collector="127.0.0.1:11800")` in code, `Config.from_env()` from the environment.

    :raises ConfigError: naming the field (or variable), its value and what is allowed
    """

    service: str = _option(
        "Python Service Name",
        "SW_AGENT_NAME",
        "Name of the service that reports.",
        "a text that is not blank",
        check_filled,
    )
    instance: str = _option(
        _new_instance_name,
        "SW_AGENT_INSTANCE_NAME",
        "Name of this instance of the service; by default a random id and the host's name.",
        "a text that is not blank",
        check_filled,
    )
    namespace: str = _text(
        "",
        "SW_AGENT_NAMESPACE",
        "Namespace: reported as a property and appended to the service's name as `|namespace`.",
    )
    collector: str = _option(
        "127.0.0.1:11800",
        "SW_AGENT_COLLECTOR_BACKEND_SERVICES",
        "Where the collector (OAP) listens: `host:port`, several separated by commas.",
        "host:port[,host:port...], each optionally with grpc://, grpcs://, http:// or https://",
        check_filled,
    )
    protocol: str = _option(
        "grpc",
        "SW_AGENT_PROTOCOL",
        "The transport: grpc, or another one that is installed.",
        "the name of an installed transport, such as grpc",
        lambda value: check_filled(value).lower(),
    )
    backend: str = _choice(
        "auto",
        "SW_AGENT_BACKEND",
        "The event loop of the thread home (`swagent.start()`); inside an application's own loop "
        "the agent runs on whatever loop is there.",
        "auto",
        "asyncio",
        "uvloop",
        "trio",
    )
    delivery: str = _choice(
        "at_most_once",
        "SW_AGENT_DELIVERY",
        "What happens to a batch whose outcome is unknown: dropped and counted, or sent again "
        "(then the collector may see it twice and count it twice in its metrics).",
        "at_most_once",
        "at_least_once",
    )
    authentication: Secret = _option(
        Secret(""),
        "SW_AGENT_AUTHENTICATION",
        "Token that the collector asks for.",
        "printable ASCII characters",
        check_secret,
        secret=True,
    )
    allow_plaintext_token: bool = _flag(
        False, "SW_AGENT_ALLOW_PLAINTEXT_TOKEN", "Send the token without TLS to a collector beyond this machine."
    )
    force_tls: bool = _flag(False, "SW_AGENT_FORCE_TLS", "Use TLS for every collector address.")
    tls_ca: str = _text(
        "",
        "SW_AGENT_SSL_TRUSTED_CA_PATH",
        "PEM file of the certificate authorities to trust; the system's own when empty.",
    )
    tls_cert: str = _text("", "SW_AGENT_SSL_CERT_CHAIN_PATH", "PEM file of the client's certificate chain, for mTLS.")
    tls_key: str = _text("", "SW_AGENT_SSL_KEY_PATH", "PEM file of the client certificate's private key.")
    kafka_bootstrap_servers: tuple[str, ...] = _option(
        ("localhost:9092",),
        "SW_KAFKA_BOOTSTRAP_SERVERS",
        "Where the Kafka cluster can be entered; several separated by commas.",
        "host[:port][,host[:port]...]",
        _check_servers,
        parse_list,
    )
    kafka_namespace: str = _kafka_name("", "SW_KAFKA_NAMESPACE", "Prepended to each topic's name as `namespace-`.")
    kafka_topic_management: str = _kafka_name(
        "skywalking-managements", "SW_KAFKA_TOPIC_MANAGEMENT", "Topic of instance properties and heartbeats."
    )
    kafka_topic_segment: str = _kafka_name("skywalking-segments", "SW_KAFKA_TOPIC_SEGMENT", "Topic of segments.")
    kafka_topic_log: str = _kafka_name("skywalking-logs", "SW_KAFKA_TOPIC_LOG", "Topic of logs.")
    kafka_topic_meter: str = _kafka_name("skywalking-meters", "SW_KAFKA_TOPIC_METER", "Topic of meters.")
    kafka_security_protocol: str = _choice(
        "plaintext",
        f"{_KAFKA_CLIENT}SECURITY_PROTOCOL",
        "How to talk to Kafka's brokers; with SW_AGENT_FORCE_TLS always over TLS.",
        "plaintext",
        "ssl",
        "sasl_plaintext",
        "sasl_ssl",
    )
    kafka_sasl_mechanism: str = _choice(
        "plain", f"{_KAFKA_CLIENT}SASL_MECHANISM", "How to log in to Kafka.", "plain", "scram-sha-256", "scram-sha-512"
    )
    kafka_sasl_plain_username: str = _text(
        "", f"{_KAFKA_CLIENT}SASL_PLAIN_USERNAME", "Who logs in to Kafka, with any mechanism."
    )
    kafka_sasl_plain_password: Secret = _option(
        Secret(""),
        f"{_KAFKA_CLIENT}SASL_PLAIN_PASSWORD",
        "The password of that login.",
        "a text without NUL",
        _check_password,
        secret=True,
    )
    kafka_ssl_cafile: str = _text("", f"{_KAFKA_CLIENT}SSL_CAFILE", "As SW_AGENT_SSL_TRUSTED_CA_PATH, for Kafka alone.")
    kafka_ssl_certfile: str = _text(
        "", f"{_KAFKA_CLIENT}SSL_CERTFILE", "As SW_AGENT_SSL_CERT_CHAIN_PATH, for Kafka alone."
    )
    kafka_ssl_keyfile: str = _text("", f"{_KAFKA_CLIENT}SSL_KEYFILE", "As SW_AGENT_SSL_KEY_PATH, for Kafka alone.")
    kafka_client_id: str = _text("swagent", f"{_KAFKA_CLIENT}CLIENT_ID", "The name that the brokers log and meter.")
    kafka_compression_type: str = _choice(
        "none",
        f"{_KAFKA_CLIENT}COMPRESSION_TYPE",
        "How batches are compressed, in the event loop; all but gzip need pip install 'aiokafka[all]'.",
        "none",
        "gzip",
        "snappy",
        "lz4",
        "zstd",
    )
    kafka_max_batch_size: int = _number(
        900_000,
        f"{_KAFKA_CLIENT}MAX_BATCH_SIZE",
        "Bytes of one Kafka batch; must be below the topics' max.message.bytes.",
        1024,
        16_777_216,
    )
    kafka_request_timeout_ms: int = _number(
        0,
        f"{_KAFKA_CLIENT}REQUEST_TIMEOUT_MS",
        "SW_AGENT_REQUEST_TIMEOUT for Kafka, in milliseconds; 0: the same.",
        0,
        300_000,
    )
    instance_properties: Mapping[str, str] = _option(
        dict,
        "SW_AGENT_INSTANCE_PROPERTIES_JSON",
        "Properties of your own, reported with the instance.",
        "a JSON object of texts",
        check_object,
        parse_object,
    )
    heartbeat_period: float = _number(
        30.0, "SW_AGENT_COLLECTOR_HEARTBEAT_PERIOD", "Seconds between two heartbeats.", 0.05, 3600
    )
    properties_factor: int = _number(
        10,
        "SW_AGENT_COLLECTOR_PROPERTIES_REPORT_PERIOD_FACTOR",
        "Every how many heartbeats the instance's properties are reported again.",
        1,
        10_000,
    )
    trace_max_buffer_size: int = _number(
        10_000, "SW_AGENT_TRACE_REPORTER_MAX_BUFFER_SIZE", "How many segments may wait or be under way.", 1, 1_000_000
    )
    request_timeout: float = _number(
        5.0,
        "SW_AGENT_REQUEST_TIMEOUT",
        "Seconds that one connection attempt or one call to the collector may take.",
        0.05,
        300,
    )
    shutdown_timeout: float = _number(
        5.0, "SW_AGENT_SHUTDOWN_TIMEOUT", "Seconds that the last flush may take when the agent stops.", 0.0, 300
    )
    sample_n_per_3_secs: int = _number(
        0, "SW_SAMPLE_N_PER_3_SECS", "How many new traces to record in 3 seconds; 0 or less: all.", -1, 1_000_000_000
    )
    ignore_suffix: tuple[str, ...] = _list(
        ".jpg,.jpeg,.js,.css,.png,.bmp,.gif,.ico,.mp3,.mp4,.html,.svg",
        "SW_AGENT_IGNORE_SUFFIX",
        "Operations whose name ends so are not traced.",
    )
    trace_ignore_path: tuple[str, ...] = _list(
        "",
        "SW_AGENT_TRACE_IGNORE_PATH",
        "Ant-style patterns of operations that are not traced: `?` one character, `*` within a part, `**` any parts.",
    )
    span_limit: int = _number(
        512,
        "SW_AGENT_SPAN_LIMIT_PER_SEGMENT",
        "How many spans one segment keeps; what is beyond is not recorded and the segment says so.",
        1,
        100_000,
    )
    correlation_element_max_number: int = _number(
        3, "SW_CORRELATION_ELEMENT_MAX_NUMBER", "How many correlation elements travel with a trace.", 0, 64
    )
    correlation_value_max_length: int = _number(
        128, "SW_CORRELATION_VALUE_MAX_LENGTH", "How long one correlation value may be.", 0, 4096
    )
    propagate_to: tuple[str, ...] = _list(
        "", "SW_AGENT_PROPAGATE_TO", "Hosts that outgoing calls may carry the trace's context to; empty: all."
    )
    trust_incoming: bool | Callable[[Any], bool] = dataclasses.field(default=True)
    """Whether the context of an incoming request is continued: always, never, or as a callable says of the
    ASGI scope. In code only."""
    meter_reporter_active: bool | None = _unset_flag("SW_AGENT_METER_REPORTER_ACTIVE", "Report meters.")
    meter_reporter_period: float = _number(
        20.0, "SW_AGENT_METER_REPORTER_PERIOD", "Seconds between two reports of all meters.", 0.05, 3600
    )
    meter_reporter_max_buffer_size: int = _number(
        2000,
        "SW_AGENT_METER_REPORTER_MAX_BUFFER_SIZE",
        "How many series the application's meters may have; what is beyond "
        "is counted together, under the label `_overflow`.",
        1,
        1_000_000,
    )
    pvm_meter_reporter_active: bool = _flag(
        True,
        "SW_AGENT_PVM_METER_REPORTER_ACTIVE",
        "Report meters of the Python runtime: processor, memory, garbage collector, threads, tasks.",
    )
    event_reporter_active: bool | None = _unset_flag(
        "SW_AGENT_EVENT_REPORTER_ACTIVE", "Report the instance's start and stop as events."
    )
    log_reporter_active: bool | None = _unset_flag("SW_AGENT_LOG_REPORTER_ACTIVE", "Report log records.")
    log_reporter_safe_mode: bool = _flag(
        False,
        "SW_AGENT_LOG_REPORTER_SAFE_MODE",
        "Mask credentials (those in URLs, and the values of `password=`, `token=` and "
        "their like) in what log records say.",
    )
    log_reporter_max_buffer_size: int = _number(
        10_000, "SW_AGENT_LOG_REPORTER_MAX_BUFFER_SIZE", "How many log records may wait or be under way.", 1, 1_000_000
    )
    log_reporter_level: str = _option(
        "WARNING",
        "SW_AGENT_LOG_REPORTER_LEVEL",
        "The lowest level of log records that are reported.",
        "the name of a level of `logging`, or a number from 0 to 1000",
        check_level,
    )
    log_reporter_ignore_filter: bool = _flag(
        False, "SW_AGENT_LOG_REPORTER_IGNORE_FILTER", "Report also the log records that a logger's filters hold back."
    )
    log_reporter_formatted: bool = _flag(
        True,
        "SW_AGENT_LOG_REPORTER_FORMATTED",
        "Report log records as formatted by the layout; otherwise the bare message, "
        "with its arguments and the exception as tags.",
    )
    log_reporter_layout: str = _option(
        "%(asctime)s [%(threadName)s] %(levelname)s %(name)s - %(message)s",
        "SW_AGENT_LOG_REPORTER_LAYOUT",
        "How log records are formatted: as `logging` has it, and with `%(tid)s` for the trace's id.",
        "a %-style format of the fields of a log record",
        check_layout,
    )
    cause_exception_depth: int = _number(
        10,
        "SW_AGENT_CAUSE_EXCEPTION_DEPTH",
        "How many exceptions of a chain of causes, and how many places of each one's stack, a log record tells.",
        1,
        1000,
    )
    log_level: str = _choice(
        "info",
        "SW_AGENT_LOGGING_LEVEL",
        "Level of the agent's own log lines.",
        "debug",
        "info",
        "warn",
        "warning",
        "error",
        "fatal",
        "critical",
    )

    def __post_init__(self) -> None:
        for field, option in options():
            value = getattr(self, field)
            try:
                object.__setattr__(self, field, option.check(value))
            except (ValueError, TypeError):
                raise ConfigError(field, "***" if option.secret else value, option.allowed) from None
        if not (callable(self.trust_incoming) or isinstance(self.trust_incoming, bool)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigError("trust_incoming", self.trust_incoming, "true, false or a callable")
        self._check_addresses()

    def _check_addresses(self) -> None:
        addresses = self.addresses
        exposed = [each for each in addresses if not each.tls and not each.is_loopback]
        if self.authentication and exposed and not self.allow_plaintext_token:
            raise ConfigError(
                "authentication", "***", f"TLS to {exposed[0]} (force_tls or grpcs://), or allow_plaintext_token=True"
            )
        if bool(self.tls_cert) != bool(self.tls_key):
            raise ConfigError(
                "tls_cert" if self.tls_cert else "tls_key",
                self.tls_cert or self.tls_key,
                "both tls_cert and tls_key, or neither",
            )

    @property
    def addresses(self) -> tuple[Address, ...]:
        """The collector's addresses, in the order in which they are tried.

        :raises ConfigError: when one of them cannot be read
        """
        try:
            parsed = [parse_address(each, self.force_tls) for each in parse_list(self.collector)]
        except ValueError:
            parsed = []
        if not parsed:
            # what stands before an @ may be a password
            *hidden, shown = self.collector.rpartition("@")
            raise ConfigError("collector", f"***@{shown}" if any(hidden) else shown, _OPTIONS["collector"].allowed)
        return tuple(dict.fromkeys(parsed))

    @property
    def service_name(self) -> str:
        """The service's name as reported: with the namespace behind it where one is set."""
        return f"{self.service}|{self.namespace}" if self.namespace else self.service

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None, **overrides: Any) -> Config:
        """Read the environment; keyword arguments win over it.

        An `SW_` variable that nobody knows is reported by one warning on the logger `swagent`.

        :param environ: the variables, `os.environ` when left out
        :raises ConfigError: naming the variable, its value and what is allowed
        """
        environ = _fold_kafka_names(os.environ if environ is None else environ)
        values: dict[str, Any] = {}
        for field, option in options():
            text = environ.get(option.env, "")
            # an empty variable is an unset one, as the official agent has it for most of its options
            if text != "" and field not in overrides:
                values[field] = _read(option, text)
        _warn_of_unknown(environ)
        if overrides.get("protocol", values.get("protocol")) == "kafka":
            _refuse_unknown_kafka(environ)
        try:
            return cls(**values, **overrides)
        except ConfigError as error:
            if error.name not in values:
                raise
            raise ConfigError(_OPTIONS[error.name].env, error.value, error.allowed) from None


def options() -> Iterator[tuple[str, Option]]:
    """The option table: each field's name with its line."""
    return iter(_OPTIONS.items())


_OPTIONS: dict[str, Option] = {
    field.name: field.metadata["option"] for field in dataclasses.fields(Config) if "option" in field.metadata
}


def _read(option: Option, text: str) -> Any:
    try:
        return option.check(option.parse(text))
    except (ValueError, TypeError, RecursionError):
        raise ConfigError(option.env, "***" if option.secret else text, option.allowed) from None


def _fold_kafka_names(environ: Mapping[str, str]) -> dict[str, str]:
    folded: dict[str, str] = {}
    for name, text in environ.items():
        upper = name.upper()
        key = upper if upper.startswith(_KAFKA_CLIENT) else name
        if key in folded:
            raise ConfigError(name, "***", "one spelling of this name")
        folded[key] = text
    return folded


def _refuse_unknown_kafka(environ: Mapping[str, str]) -> None:
    """A setting of the Kafka client that were ignored with a mere warning might have been one for its safety."""
    known = [option.env for _, option in options() if option.env.startswith(_KAFKA_CLIENT)]
    for name in sorted(environ):
        if name.startswith(_KAFKA_CLIENT) and name not in known:
            # whatever it is, it may be a password
            raise ConfigError(name, "***", ", ".join(known))


def _warn_of_unknown(environ: Mapping[str, str]) -> None:
    known = [option.env for _, option in options()]
    for name in sorted(environ):
        if not name.startswith("SW_") or name in known or name.startswith(_OFFICIAL_ONLY):
            continue
        near = difflib.get_close_matches(name, known, n=1)
        log.warning("the environment variable %s is not known%s", name, f"; did you mean {near[0]}?" if near else "")
