"""The settings of the agent: one table, read from code or from the environment.

An `SW_` variable that the official Python agent has keeps its name and its meaning; swagent adds some of its own. Every
field of `Config` carries its line of the table as metadata. That line alone decides how the environment is read,
which values are allowed, and the text of the documentation.
"""

from __future__ import annotations

import dataclasses
import inspect
import os
import socket
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from .. import acceleration
from ..errors import ConfigError
from ..startup.settings import UNNAMED
from . import environment as environment
from . import files as files
from . import kinds as kinds
from .official import OFFICIAL
from .options import (
    Address,
    Option,
    Secret,
    check_filled,
    check_headers,
    check_layout,
    check_level,
    check_line,
    check_name,
    check_object,
    check_path,
    check_secret,
    parse_address,
    parse_list,
    parse_object,
)
from .plugins import PluginOptions
from .settings_class import settings
from .spilling import ALLOWED as ALLOWED_SPILL
from .spilling import check_spill
from .without_meaning import KAFKA_CLIENT


class _DrawnName(str):
    """An instance's name that was generated.

    :ivar process: the id of the process that drew it
    """

    process: int


def _new_instance_name() -> str:
    name = _DrawnName(f"{os.urandom(16).hex()}@{socket.gethostname()}")
    name.process = os.getpid()
    return name


def is_drawn(instance: str) -> bool:
    """Whether this name of an instance was generated."""
    return isinstance(instance, _DrawnName)


def _check_instance(value: Any) -> str:
    return value if isinstance(value, _DrawnName) else check_name(value)


SPLIT_EVERY_WITHOUT = 100
"""The default on trio, and without the accelerator: of one in how many requests the time is split."""


@settings(frozen=True, kw_only=True)
class Config(PluginOptions):
    """Everything that a user can set, checked.

    `Config(service="shop", collector="127.0.0.1:11800")` in code, `Config.from_env()` from the environment.

    :raises ConfigError: naming the field (or variable), its value and what is allowed
    """

    service: str = kinds.option(
        UNNAMED,
        "SW_AGENT_NAME",
        "Name of the service that reports.",
        "a text of one line that is not blank",
        check_name,
    )
    instance: str = kinds.option(
        _new_instance_name,
        "SW_AGENT_INSTANCE_NAME",
        "Name of this instance of the service; by default a random id and the host's name.",
        "a text of one line that is not blank",
        _check_instance,
    )
    namespace: str = kinds.option(
        "",
        "SW_AGENT_NAMESPACE",
        "Namespace: reported as a property and appended to the service's name as `|namespace`.",
        "a text of one line",
        check_line,
    )
    collector: str = kinds.option(
        "127.0.0.1:11800",
        "SW_AGENT_COLLECTOR_BACKEND_SERVICES",
        "Where the collector (OAP) listens: `host:port`, several separated by commas.",
        "host:port[,host:port...], each optionally with grpc://, grpcs://, http:// or https://",
        check_filled,
        is_address=True,
    )
    protocol: str = kinds.option(
        "grpc",
        "SW_AGENT_PROTOCOL",
        "The transport: grpc, or another one that is installed.",
        "the name of an installed transport, such as grpc",
        lambda value: check_filled(value).lower(),
    )
    backend: str = kinds.choice(
        "auto",
        "SW_AGENT_BACKEND",
        "The event loop of the agent thread (`swagent.start()`); inside an application's own loop "
        "the agent runs on whatever loop is there.",
        "auto",
        "asyncio",
        "uvloop",
        "trio",
    )
    delivery: str = kinds.choice(
        "at_most_once",
        "SW_AGENT_DELIVERY",
        "What happens to a batch whose outcome is unknown: dropped and counted, or sent again "
        "(then the collector may see it twice and count it twice in its metrics).",
        "at_most_once",
        "at_least_once",
    )
    authentication: Secret = kinds.option(
        Secret(""),
        "SW_AGENT_AUTHENTICATION",
        "Token that the collector asks for.",
        "printable ASCII characters, no blanks around them",
        check_secret,
        secret=True,
    )
    allow_plaintext_token: bool = kinds.flag(
        False, "SW_AGENT_ALLOW_PLAINTEXT_TOKEN", "Send the token without TLS to a collector beyond this machine."
    )
    force_tls: bool = kinds.flag(False, "SW_AGENT_FORCE_TLS", "Use TLS for every collector address.")
    tls_ca: str = kinds.text(
        "",
        "SW_AGENT_SSL_TRUSTED_CA_PATH",
        "PEM file of the certificate authorities to trust; the system's own when empty.",
    )
    tls_cert: str = kinds.text(
        "", "SW_AGENT_SSL_CERT_CHAIN_PATH", "PEM file of the client's certificate chain, for mTLS."
    )
    tls_key: str = kinds.text("", "SW_AGENT_SSL_KEY_PATH", "PEM file of the client certificate's private key.")
    otlp_headers: Secret = kinds.option(
        Secret(""),
        "SW_AGENT_OTLP_HEADERS",
        "Headers that go with each request of the transports otlp and otlp-http, such as a token: "
        "`name=value,name=value`, values in percent encoding.",
        "name=value[,name=value...]",
        check_headers,
        secret=True,
    )
    otlp_path: str = kinds.option(
        "",
        "SW_AGENT_OTLP_PATH",
        "Path of the URL that goes before `/v1/traces`, `/v1/logs` and `/v1/metrics`, for otlp-http.",
        "a path such as /otlp, of visible ASCII characters without `?` and `#`",
        check_path,
    )
    kafka_bootstrap_servers: tuple[str, ...] = kinds.option(
        ("localhost:9092",),
        "SW_KAFKA_BOOTSTRAP_SERVERS",
        "Where the Kafka cluster can be entered; several separated by commas.",
        "host[:port][,host[:port]...]",
        kinds.check_servers,
        parse_list,
        is_address=True,
    )
    kafka_namespace: str = kinds.kafka_name("", "SW_KAFKA_NAMESPACE", "Prepended to each topic's name as `namespace-`.")
    kafka_topic_management: str = kinds.kafka_name(
        "skywalking-managements", "SW_KAFKA_TOPIC_MANAGEMENT", "Topic of instance properties and heartbeats."
    )
    kafka_topic_segment: str = kinds.kafka_name("skywalking-segments", "SW_KAFKA_TOPIC_SEGMENT", "Topic of segments.")
    kafka_topic_log: str = kinds.kafka_name("skywalking-logs", "SW_KAFKA_TOPIC_LOG", "Topic of logs.")
    kafka_topic_meter: str = kinds.kafka_name("skywalking-meters", "SW_KAFKA_TOPIC_METER", "Topic of meters.")
    kafka_security_protocol: str = kinds.choice(
        "plaintext",
        f"{KAFKA_CLIENT}SECURITY_PROTOCOL",
        "How to talk to Kafka's brokers; with SW_AGENT_FORCE_TLS always over TLS.",
        "plaintext",
        "ssl",
        "sasl_plaintext",
        "sasl_ssl",
    )
    kafka_sasl_mechanism: str = kinds.choice(
        "plain", f"{KAFKA_CLIENT}SASL_MECHANISM", "How to log in to Kafka.", "plain", "scram-sha-256", "scram-sha-512"
    )
    kafka_sasl_plain_username: str = kinds.text(
        "", f"{KAFKA_CLIENT}SASL_PLAIN_USERNAME", "User name for Kafka, with any mechanism."
    )
    kafka_sasl_plain_password: Secret = kinds.option(
        Secret(""),
        f"{KAFKA_CLIENT}SASL_PLAIN_PASSWORD",
        "The password of that login.",
        "a text without NUL",
        kinds.check_password,
        secret=True,
    )
    kafka_ssl_cafile: str = kinds.text("", f"{KAFKA_CLIENT}SSL_CAFILE", "As SW_AGENT_SSL_TRUSTED_CA_PATH, for Kafka.")
    kafka_ssl_certfile: str = kinds.text(
        "", f"{KAFKA_CLIENT}SSL_CERTFILE", "As SW_AGENT_SSL_CERT_CHAIN_PATH, for Kafka alone."
    )
    kafka_ssl_keyfile: str = kinds.text("", f"{KAFKA_CLIENT}SSL_KEYFILE", "As SW_AGENT_SSL_KEY_PATH, for Kafka alone.")
    kafka_client_id: str = kinds.text("swagent", f"{KAFKA_CLIENT}CLIENT_ID", "The name that brokers log.")
    kafka_compression_type: str = kinds.choice(
        "none",
        f"{KAFKA_CLIENT}COMPRESSION_TYPE",
        "How batches are compressed, in the event loop; all but gzip need pip install 'aiokafka[all]'.",
        "none",
        "gzip",
        "snappy",
        "lz4",
        "zstd",
    )
    kafka_max_batch_size: int = kinds.number(
        900_000,
        f"{KAFKA_CLIENT}MAX_BATCH_SIZE",
        "Bytes of one Kafka batch; must be below the topics' max.message.bytes.",
        1024,
        16_777_216,
    )
    kafka_request_timeout_ms: int = kinds.number(
        0,
        f"{KAFKA_CLIENT}REQUEST_TIMEOUT_MS",
        "SW_AGENT_REQUEST_TIMEOUT for Kafka, in milliseconds; 0: the same.",
        0,
        300_000,
    )
    instance_properties: Mapping[str, str] = kinds.option(
        dict,
        "SW_AGENT_INSTANCE_PROPERTIES_JSON",
        "Properties of your own, reported with the instance.",
        "a JSON object of texts",
        check_object,
        parse_object,
    )
    heartbeat_period: float = kinds.number(
        30.0, "SW_AGENT_COLLECTOR_HEARTBEAT_PERIOD", "Seconds between two heartbeats.", 0.05, 3600
    )
    properties_factor: int = kinds.number(
        10,
        "SW_AGENT_COLLECTOR_PROPERTIES_REPORT_PERIOD_FACTOR",
        "Every how many heartbeats the instance's properties are reported again.",
        1,
        10_000,
    )
    trace_max_buffer_size: int = kinds.number(
        10_000, "SW_AGENT_TRACE_REPORTER_MAX_BUFFER_SIZE", "How many segments may wait or be under way.", 1, 1_000_000
    )
    trace_shedding: bool = kinds.flag(
        True,
        "SW_AGENT_TRACE_REPORTER_SHEDDING",
        "Drop ordinary segments once their buffer is three quarters full, so that there is room for errors, for slow "
        "requests and for whole traces. Buffers of less than 3584 segments just fill up.",
    )
    spill: str = kinds.option(
        "",
        "SW_AGENT_SPILL",
        "Where segments and logs wait that find no room in memory, and how many bytes of disk they may take: a folder "
        "and a size. They come back in order, also after the process was killed, and are kept for an hour. Empty: "
        "they are refused.",
        ALLOWED_SPILL,
        check_spill,
    )
    request_timeout: float = kinds.number(
        5.0,
        "SW_AGENT_REQUEST_TIMEOUT",
        "Seconds that one connection attempt or one call to the collector may take.",
        0.05,
        300,
    )
    connection_max_age: float = kinds.number(
        240.0,
        "SW_AGENT_CONNECTION_MAX_AGE",
        "Seconds after which a connection to the collector is made anew at the latest, at the earliest after half of "
        "them, so that a collector that was restarted gets its share; 0: it stays. Not for Kafka.",
        0,
        86_400,
    )
    shutdown_timeout: float = kinds.number(
        5.0, "SW_AGENT_SHUTDOWN_TIMEOUT", "Seconds that the last flush may take when the agent stops.", 0.0, 300
    )
    sample_n_per_3_secs: int = kinds.number(
        0, "SW_SAMPLE_N_PER_3_SECS", "How many new traces to record in 3 seconds; 0 or less: all.", -1, 1_000_000_000
    )
    ignore_suffix: tuple[str, ...] = kinds.list_of(
        ".jpg,.jpeg,.js,.css,.png,.bmp,.gif,.ico,.mp3,.mp4,.html,.svg",
        "SW_AGENT_IGNORE_SUFFIX",
        "Operations whose name ends so are not traced.",
    )
    trace_ignore_path: tuple[str, ...] = kinds.list_of(
        "",
        "SW_AGENT_TRACE_IGNORE_PATH",
        "Ant-style patterns of operations that are not traced: `?` one character, `*` within a part, `**` any parts.",
    )
    span_grace: float = kinds.number(
        30.0,
        "SW_AGENT_SPAN_GRACE",
        "Seconds that a segment whose root span has ended waits for its other spans. Then it is sent as it is, and "
        "the open ones are tagged `incomplete=true`.",
        0,
        3600,
    )
    loop_block_limit: float = kinds.number(
        100.0,
        "SW_AGENT_LOOP_BLOCK_LIMIT",
        "Milliseconds for which something may hold the application's event loop before the agent says what it is, and "
        "which requests had to wait; 0: it is not watched.",
        0,
        60_000,
    )
    time_split_every: int | None = kinds.unset_number(
        "SW_AGENT_TIME_SPLIT_EVERY",
        "Of one in how many requests of ASGI and WSGI applications the agent says how long it ran, was ready and "
        "waited for the loop, and awaited something; 1: of each, 0: of none.",
        0,
        1_000_000,
        f"1 of WSGI applications, and with the accelerator on asyncio and uvloop, else {SPLIT_EVERY_WITHOUT}",
    )
    task_tree_every: int = kinds.number(
        1000,
        "SW_AGENT_TASK_TREE_EVERY",
        "Of one in how many requests whose time is split the agent lists the tasks that the request began; 1: of each, "
        "0: of none.",
        0,
        1_000_000,
    )
    span_limit: int = kinds.number(
        512,
        "SW_AGENT_SPAN_LIMIT_PER_SEGMENT",
        "How many spans one segment keeps; what is beyond goes in segments of their own that refer back.",
        1,
        100_000,
    )
    endpoint_limit: int = kinds.number(
        1000,
        "SW_AGENT_ENDPOINT_LIMIT",
        "How many distinct operations of incoming requests are reported by name; what is beyond is called `_overflow`.",
        1,
        1_000_000,
    )
    peer_limit: int = kinds.number(
        1000,
        "SW_AGENT_PEER_LIMIT",
        "How many distinct peers of outgoing calls are reported by address; what is beyond is called `_overflow`.",
        1,
        1_000_000,
    )
    correlation_element_max_number: int = kinds.number(
        3, "SW_CORRELATION_ELEMENT_MAX_NUMBER", "How many correlation elements travel with a trace.", 0, 64
    )
    correlation_value_max_length: int = kinds.number(
        128, "SW_CORRELATION_VALUE_MAX_LENGTH", "How long one correlation value may be.", 0, 4096
    )
    propagate_to: tuple[str, ...] = kinds.list_of(
        "",
        "SW_AGENT_PROPAGATE_TO",
        "Hosts that outgoing calls may carry the trace's context to; empty or with `*`: all. Public hosts of language "
        "models only if they are named.",
        is_address=True,
    )
    propagate_traceparent: bool = kinds.flag(
        True,
        "SW_AGENT_PROPAGATE_TRACEPARENT",
        "Send the W3C's `traceparent` and `tracestate` beside `sw8`, and continue the trace of a caller that sends "
        "`traceparent` and no `sw8`.",
    )
    trust_incoming: bool | Callable[[Any], bool] = dataclasses.field(default=True)
    """Whether the context of an incoming request is continued: always, never, or as a callable decides, which gets the
    ASGI scope. In code only."""
    meter_reporter_active: bool | None = kinds.unset_flag("SW_AGENT_METER_REPORTER_ACTIVE", "Report meters.")
    meter_reporter_period: float = kinds.number(
        20.0, "SW_AGENT_METER_REPORTER_PERIOD", "Seconds between two reports of all meters.", 0.05, 3600
    )
    meter_reporter_max_buffer_size: int = kinds.number(
        2000,
        "SW_AGENT_METER_REPORTER_MAX_BUFFER_SIZE",
        "How many series the application's meters may have; what is beyond "
        "is counted together, under the label `_overflow`. For the official agent it is how many samples may wait: "
        "here four periods may, whatever is set.",
        1,
        1_000_000,
    )
    pvm_meter_reporter_active: bool = kinds.flag(
        True,
        "SW_AGENT_PVM_METER_REPORTER_ACTIVE",
        "Report meters of the Python runtime: processor, memory, garbage collector, threads, tasks.",
    )
    event_reporter_active: bool | None = kinds.unset_flag(
        "SW_AGENT_EVENT_REPORTER_ACTIVE", "Report the instance's start and stop as events."
    )
    profile_active: bool = kinds.flag(
        True,
        "SW_AGENT_PROFILE_ACTIVE",
        "Carry out the profile tasks that are made at the collector. They come over gRPC alone.",
    )
    get_profile_task_interval: float = kinds.number(
        20.0,
        "SW_AGENT_COLLECTOR_GET_PROFILE_TASK_INTERVAL",
        "Seconds between two polls for profile tasks.",
        0.05,
        3600,
    )
    get_agent_dynamic_config_interval: float = kinds.number(
        20.0,
        "SW_AGENT_COLLECTOR_GET_AGENT_DYNAMIC_CONFIG_INTERVAL",
        "Seconds between two polls for the settings that the collector changes at run time; 0: none. They "
        "come over gRPC alone.",
        0,
        3600,
    )
    profile_max_parallel: int = kinds.number(
        5, "SW_AGENT_PROFILE_MAX_PARALLEL", "How many requests are profiled at the same time.", 1, 100
    )
    profile_duration: float = kinds.number(
        10.0, "SW_AGENT_PROFILE_DURATION", "Minutes for which one request is profiled at most.", 0.01, 60
    )
    profile_dump_max_stack_depth: int = kinds.number(
        500,
        "SW_AGENT_PROFILE_DUMP_MAX_STACK_DEPTH",
        "How many frames a stack of a profile has; of a deeper one, the innermost.",
        1,
        500,
    )
    profile_snapshot_transport_buffer_size: int = kinds.number(
        5000,
        "SW_AGENT_PROFILE_SNAPSHOT_TRANSPORT_BUFFER_SIZE",
        "How many stacks of a profile may wait or be under way.",
        1,
        1_000_000,
    )
    log_reporter_active: bool | None = kinds.unset_flag("SW_AGENT_LOG_REPORTER_ACTIVE", "Report log records.")
    log_reporter_safe_mode: bool = kinds.flag(
        False,
        "SW_AGENT_LOG_REPORTER_SAFE_MODE",
        "Mask credentials (those in URLs, and the values of `password=`, `token=` and "
        "their like) in what log records say.",
    )
    log_reporter_max_buffer_size: int = kinds.number(
        10_000, "SW_AGENT_LOG_REPORTER_MAX_BUFFER_SIZE", "How many log records may wait or be under way.", 1, 1_000_000
    )
    log_reporter_level: str = kinds.option(
        "WARNING",
        "SW_AGENT_LOG_REPORTER_LEVEL",
        "The lowest level of log records that are reported.",
        "the name of a level of `logging`, or a number from 0 to 1000",
        check_level,
    )
    log_reporter_ignore_filter: bool = kinds.flag(
        False, "SW_AGENT_LOG_REPORTER_IGNORE_FILTER", "Report also the log records that a logger's filters hold back."
    )
    log_reporter_formatted: bool = kinds.flag(
        True,
        "SW_AGENT_LOG_REPORTER_FORMATTED",
        "Report log records as formatted by the layout; otherwise the bare message, "
        "with its arguments and the exception as tags.",
    )
    log_reporter_layout: str = kinds.option(
        "%(asctime)s [%(threadName)s] %(levelname)s %(name)s - %(message)s",
        "SW_AGENT_LOG_REPORTER_LAYOUT",
        "How log records are formatted: as `logging` has it, and with `%(tid)s` for the trace's id.",
        "a %-style format of the fields of a log record, each at most 999 wide",
        check_layout,
    )
    cause_exception_depth: int = kinds.number(
        10,
        "SW_AGENT_CAUSE_EXCEPTION_DEPTH",
        "How many exceptions of a chain of causes, and how many places of each one's stack, a log record shows; 0: no "
        "stacks, and ten exceptions. Spans show an exception's last 32 places in any case.",
        0,
        1000,
    )
    propagate_threads: bool = kinds.flag(
        False,
        "SW_AGENT_PROPAGATE_THREADS",
        "Carry the context into the threads that the application starts and into what it gives to thread pools; "
        "otherwise by hand, with `capture()`.",
    )
    http_url_real_path: bool = kinds.flag(
        False,
        "SW_AGENT_HTTP_URL_REAL_PATH",
        "Show the requested path in `http.url`, and not the template of its route; never the query. A path may hold a "
        "secret, such as the token of a reset link, and a request costs more.",
    )
    endpoint_style: str = kinds.choice(
        "route",
        "SW_AGENT_ENDPOINT_STYLE",
        "How incoming requests are named: by method and route, `GET:/orders/{item}`, or by the path that was asked "
        "for, `/orders/lamp`, as the official agent names them, within SW_AGENT_ENDPOINT_LIMIT.",
        "route",
        "path",
    )
    compatibility: str = kinds.choice(
        "none",
        "SW_AGENT_COMPATIBILITY",
        "Whose names, tags and defaults: with `official`, those of the official agent. Names are paths, statements and "
        "keys are tagged, identifiers stay in the paths of outgoing calls, statuses from 400 on are failures, and the "
        "time of requests is not split; see the page for its users. Other settings win over it.",
        "none",
        "official",
    )
    start_after: float = kinds.number(
        10.0,
        "SW_AGENT_START_AFTER",
        "Seconds after which a script under `swagent run` has an agent even if it has recorded nothing; 0: not before "
        "it records. Where a script only sleeps, they are noticed at its next import, garbage collection or record.",
        0,
        86400,
    )
    gc_freeze: bool = kinds.flag(
        False,
        "SW_AGENT_GC_FREEZE",
        "Collect garbage once the application has started, and leave all that is alive then out of every later "
        "collection: under load they take far less time, and what the start has made is never collected.",
    )
    native: str = kinds.choice(
        "auto",
        acceleration.VARIABLE,
        "Whether requests, logs and spans are recorded by the accelerator, where `swagent[native]` is installed; "
        "off: by Python, with the same records. Read when swagent is imported, so from the environment alone.",
        *acceleration.CHOICES,
    )
    log_level: str = kinds.choice(
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
                raise ConfigError(field, option.shown(value), option.allowed) from None
        trust: Any = self.trust_incoming
        # the coroutine of an async callable would be true, whatever it came to
        if not (callable(trust) or isinstance(trust, bool)) or inspect.iscoroutinefunction(trust):
            raise ConfigError("trust_incoming", trust, "true, false or a callable that is not async")
        self._check_addresses()

    def _check_addresses(self) -> None:
        addresses = self.addresses
        exposed = [each for each in addresses if each.is_exposed]
        secret = "authentication" if self.authentication else "otlp_headers" if self.otlp_headers else ""
        if secret and exposed and not self.allow_plaintext_token:
            raise ConfigError(
                secret, "***", f"TLS to {exposed[0]} (force_tls or grpcs://), or allow_plaintext_token=True"
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
            option = _OPTIONS["collector"]
            raise ConfigError("collector", option.shown(self.collector), option.allowed)
        return tuple(dict.fromkeys(parsed))

    @property
    def service_name(self) -> str:
        """The service's name as reported: followed by the namespace, if one is set."""
        return f"{self.service}|{self.namespace}" if self.namespace else self.service

    def warn_of_default_name(self) -> None:
        """Say that the service has no name, where it has none. Once a process."""
        environment.warn_of_default_name(self.service, UNNAMED)

    def splits_every(self, *, on_trio: bool) -> int:
        """The setting `time_split_every`, where it is unset as well.

        :param on_trio: whether the application runs on trio, whose instruments cost each step of each task
        """
        if self.time_split_every is not None:
            return self.time_split_every
        return SPLIT_EVERY_WITHOUT if on_trio or acceleration.native is None else 1

    @property
    def splits_threads_every(self) -> int:
        """The setting `time_split_every` for requests that threads serve, where it is unset as well."""
        return 1 if self.time_split_every is None else self.time_split_every

    def for_this_process(self) -> Config:
        """The same, with another instance name if the name was drawn by the process that this one was forked from: each
        of a server's workers is an instance. A name that the user gave stays."""
        drawn = self.instance
        if isinstance(drawn, _DrawnName) and drawn.process != os.getpid():
            return dataclasses.replace(self, instance=_new_instance_name())
        return self

    @classmethod
    def from_env(
        cls, environ: Mapping[str, str] | None = None, *, folder: str | os.PathLike[str] | None = None, **overrides: Any
    ) -> Config:
        """Read the environment, and the file of the project: `swagent.toml`, or `[tool.swagent]` in `pyproject.toml`.
        The environment wins over the file, and keyword arguments over both.

        An unknown `SW_` variable is reported by one warning on the logger `swagent`, of the process's own environment
        once in its life; those that mean something to the official agent alone are named there in one line.

        :param environ: the variables; `os.environ` when left out
        :param folder: where the file is; the working directory when left out, unless `environ` is given: then no file
            is read
        :raises ConfigError: naming the variable, or the file and its key, the value and what is allowed
        """
        is_of_process = environ is None
        if folder is None and environ is None:
            folder = os.curdir
        environ = environment.fold_kafka_names(os.environ if environ is None else environ)
        file = files.read_files(Path(folder), _OPTIONS) if folder is not None else files.NONE
        values, origins = _read(environ, file, overrides)
        environment.warn_of_unknown(environ, _OPTIONS.values(), once=is_of_process)
        if overrides.get("protocol", values.get("protocol")) == "kafka":
            environment.refuse_unknown_kafka(environ, _OPTIONS.values())
        try:
            config = cls(**values, **overrides)
        except ConfigError as error:
            if error.name not in origins:
                raise
            raise ConfigError(origins[error.name], error.value, error.allowed) from None
        environment.name_without_meaning(environ, config.log_level)
        # beside the fields: a copy with other settings comes from nowhere
        object.__setattr__(config, "_origins", origins)
        return config

    def origin_of(self, name: str) -> str:
        """The variable, or the file and its key, that a setting comes from; its own name where it is neither's."""
        origins: Mapping[str, str] = getattr(self, "_origins", {})
        return origins.get(name, name)


def origins_of(environ: Mapping[str, str], folder: str | os.PathLike[str] = os.curdir) -> dict[str, str]:
    """Where the settings come from that are not left as they are: by their names, the variable or the file and its key.

    :raises ConfigError: when something cannot be read
    """
    environ = environment.fold_kafka_names(environ)
    return _read(environ, files.read_files(Path(folder), _OPTIONS), {})[1]


def _read(
    environ: Mapping[str, str], file: files.FileSettings, overrides: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, str]]:
    """The settings that are made somewhere, and where."""
    values = {name: value for name, value in file.values.items() if name not in overrides}
    origins = {name: f"{file.file}: {name}" for name in values}
    for name, option in options():
        text = environ.get(option.env, "")
        # an empty variable is an unset one, as the official agent has it for most of its options
        if text != "" and name not in overrides:
            values[name] = environment.read(option, text)
            origins[name] = option.env
    if str(overrides.get("compatibility", values.get("compatibility"))).strip().lower() == "official":
        values = {**{name: value for name, value in OFFICIAL.items() if name not in overrides}, **values}
    return values, origins


def options() -> Iterator[tuple[str, Option]]:
    """The option table: each field's name with its line."""
    return iter(_OPTIONS.items())


def _in_order() -> Iterator[tuple[str, Option]]:
    """The options of the agent itself first, then those of its instrumentations."""
    fields = [field for field in dataclasses.fields(Config) if "option" in field.metadata]
    theirs = {field.name for field in dataclasses.fields(PluginOptions)}
    for field in sorted(fields, key=lambda field: field.name in theirs):
        yield field.name, field.metadata["option"]


_OPTIONS: dict[str, Option] = dict(_in_order())
