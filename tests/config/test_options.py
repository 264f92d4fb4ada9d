"""Every option, from code and from the environment; a bad value is named together with what is allowed."""

from __future__ import annotations

import dataclasses
import inspect
import json
from collections.abc import Callable
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swagent.config import Config, options
from swagent.config.options import Option, Secret
from swagent.errors import ConfigError

OPTIONS: dict[str, Option] = dict(options())


class Case(NamedTuple):
    """One option: a text for the environment, the value that it means, and values that cannot be used."""

    text: str
    value: Any
    bad_texts: tuple[str, ...] = ()
    bad_values: tuple[Any, ...] = ()


def _number(text: str, value: float, *out_of_bounds: str) -> Case:
    bad_texts = (*out_of_bounds, "many", "1e999", "nan", "inf", "9" * 5000, "1;2", "0x10")
    return Case(text, value, bad_texts, (True, None, "5", [5], float("nan"), 10**400, -(10**400)))


def _flag() -> Case:
    return Case("True", True, ("truee", "2", "ye", "-1", "1.0"), (1, "true", None))


def _unset_flag() -> Case:
    return Case("False", False, ("falsee", "10"), (1, "true"))


def _text(text: str, *bad_texts: str) -> Case:
    return Case(text, text, bad_texts, (7, None, b"bytes"))


def _list(text: str, value: tuple[str, ...]) -> Case:
    return Case(text, value, (), (None, 7, [7], ("a", None), b"bytes"))


def _choice(text: str, value: str, *bad_texts: str) -> Case:
    return Case(text, value, bad_texts, (7, None, "", *bad_texts))


_ALIKE = {
    """
        allow_plaintext_token force_tls trace_shedding profile_active log_reporter_safe_mode
        log_reporter_ignore_filter log_reporter_formatted pvm_meter_reporter_active
        propagate_threads propagate_traceparent http_url_real_path gc_freeze
        plugin_flask_collect_http_params plugin_sanic_collect_http_params
        plugin_django_collect_http_params plugin_fastapi_collect_http_params
        plugin_bottle_collect_http_params plugin_sql_statements plugin_cache_keys
        trace_calls_outside_requests plugin_pymongo_trace_parameters plugin_elasticsearch_trace_dsl
    """: _flag(),
    """
        event_reporter_active log_reporter_active meter_reporter_active
    """: _unset_flag(),
    """
        trace_max_buffer_size endpoint_limit peer_limit profile_snapshot_transport_buffer_size
        log_reporter_max_buffer_size meter_reporter_max_buffer_size
    """: _number("7", 7, "0", "1000001", "2.5"),
    """
        task_tree_every plugin_http_http_params_length_threshold plugin_sql_parameters_max_length
        plugin_pymongo_parameters_max_length plugin_celery_parameters_length
    """: _number("7", 7, "-1", "1000001", "2.5"),
    """
        get_profile_task_interval meter_reporter_period
    """: _number("2.5", 2.5, "0", "3601"),
    """
        tls_ca tls_cert tls_key kafka_ssl_cafile kafka_ssl_certfile kafka_ssl_keyfile
    """: _text("/a.pem"),
    """
        kafka_namespace kafka_topic_management kafka_topic_segment kafka_topic_log kafka_topic_meter
    """: _text("name", "a b", "a/b"),
}
CASES: dict[str, Case] = {
    **{name: case for names, case in _ALIKE.items() for name in names.split()},
    "service": _text("cart", " ", "\t"),
    "instance": _text("cart-1", " "),
    "namespace": _text("test"),
    "collector": _text("oap:11800,other:11800", " ", "oap", ":11800", "oap:port", "oap:0", ","),
    "protocol": _choice("GRPC", "grpc", " "),
    "backend": _choice("UvLoop", "uvloop", "curio"),
    "delivery": _choice("at_least_once", "at_least_once", "exactly_once"),
    "authentication": Case("token", Secret("token"), ("to\nken", "tökén", "\x7f"), (7, None, b"token", "to\r\nken")),
    "otlp_headers": Case(
        "X-Scope=shop,Authorization=Basic%20YQ%3D%3D",
        Secret("X-Scope=shop,Authorization=Basic%20YQ%3D%3D"),
        ("shop", "x y=1", "host=shop", "a=b%0d%0ac", "a=tökén"),
        (7, None, b"a=b", "a"),
    ),
    "otlp_path": _text("/otlp", "otlp", "/otlp?key=1", "/ö"),
    "instance_properties": Case(
        '{"zone": "a", "rack": 7}',
        {"zone": "a", "rack": "7"},
        ("[]", '"text"', "{", '{"a": null}', '{"a": {}}', "[" * 100_000),
        (None, "{}", {"a": None}, {7: "a"}, [("a", "b")]),
    ),
    "heartbeat_period": _number("2.5", 2.5, "0", "3601", "-1"),
    "properties_factor": _number("7", 7, "0", "10001", "2.5"),
    "spill": _text("/spool,8MiB", "/spool", "/spool,7MiB", "spool,8MiB"),
    "request_timeout": _number("2.5", 2.5, "0", "301"),
    "connection_max_age": _number("0", 0.0, "-0.1", "86401"),
    "shutdown_timeout": _number("0", 0.0, "-0.1", "301"),
    "sample_n_per_3_secs": _number("7", 7, "-2", "2.5"),
    "ignore_suffix": _list(" .a, .b ,,", (".a", ".b")),
    "trace_ignore_path": _list("/a/**,/b", ("/a/**", "/b")),
    "loop_block_limit": _number("50", 50.0, "-1", "60001"),
    "time_split_every": Case("7", 7, ("-1", "1000001", "2.5", "text"), ("7", True, 2.5)),
    "span_grace": _number("1.5", 1.5, "-1", "3601"),
    "span_limit": _number("7", 7, "0", "100001", "2.5"),
    "correlation_element_max_number": _number("0", 0, "-1", "65"),
    "correlation_value_max_length": _number("0", 0, "-1", "4097"),
    "propagate_to": _list("a:1,b", ("a:1", "b")),
    "log_level": _choice("DEBUG", "debug", "loud"),
    "get_agent_dynamic_config_interval": _number("2.5", 2.5, "-1", "3601"),
    "profile_max_parallel": _number("7", 7, "0", "101", "2.5"),
    "profile_duration": _number("2.5", 2.5, "0", "61"),
    "profile_dump_max_stack_depth": _number("7", 7, "0", "501", "2.5"),
    "log_reporter_level": Case("info", "INFO", ("loud", "-1", "1001"), (True, None, 1.5, "")),
    "log_reporter_layout": Case("%(message)s", "%(message)s", ("none", "%s", "%(message)d"), (7, None, "")),
    "cause_exception_depth": _number("0", 0, "-1", "1001", "2.5"),
    "endpoint_style": _choice("Path", "path", "method"),
    "compatibility": _choice("Official", "official", "officially"),
    "start_after": _number("2.5", 2.5, "-1", "86401"),
    "native": _choice("Off", "off", "on", "true", "0"),
    "kafka_bootstrap_servers": _list("a:1,b", ("a:1", "b:9092")),
    "kafka_security_protocol": _choice("SSL", "ssl", "tls"),
    "kafka_sasl_mechanism": _choice("SCRAM-SHA-256", "scram-sha-256", "gssapi"),
    "kafka_sasl_plain_username": _text("agent"),
    "kafka_sasl_plain_password": Case("secret", Secret("secret"), ("se\0cret",), (7, None, b"secret")),
    "kafka_client_id": _text("shop"),
    "kafka_compression_type": _choice("GZIP", "gzip", "brotli"),
    "kafka_max_batch_size": _number("2048", 2048, "1023", "16777217", "2048.5"),
    "kafka_request_timeout_ms": _number("7", 7, "-1", "300001", "2.5"),
    "disable_plugins": Case("sw_flask, http.*", ("sw_flask", "http.*"), ("(",), (None, 7, [7], ["("])),
    "plugin_http_ignore_method": _list("head,OPTIONS", ("HEAD", "OPTIONS")),
    "plugin_grpc_ignored_methods": _list("/a/B, /a/C", ("/a/B", "/a/C")),
}

# what else an option needs so that it can be used at all
_COMPANIONS: dict[str, dict[str, Any]] = {"tls_cert": {"tls_key": "/key.pem"}, "tls_key": {"tls_cert": "/cert.pem"}}

_GOOD = [pytest.param(field, case, id=field) for field, case in CASES.items()]
_BAD_TEXTS = [
    pytest.param(field, text, id=f"{field}-{text[:12]!r}") for field, case in CASES.items() for text in case.bad_texts
]
_BAD_VALUES = [
    pytest.param(field, value, id=f"{field}-{str(value)[:12]!r}")
    for field, case in CASES.items()
    for value in case.bad_values
]


def _error_of(make: Callable[[], Config]) -> ConfigError | None:
    try:
        make()
    except ConfigError as error:
        return error
    return None


def test_every_option_is_tried_here() -> None:
    assert CASES.keys() == OPTIONS.keys()


def test_every_option_has_a_variable_of_its_own_and_is_explained() -> None:
    assert len({option.env for option in OPTIONS.values()}) == len(OPTIONS)
    for option in OPTIONS.values():
        assert option.env.startswith("SW_")
        assert option.help.endswith(".")
        assert option.allowed


@pytest.mark.parametrize(("field", "case"), _GOOD)
def test_an_option_is_read_from_the_environment_and_set_in_code_which_wins(field: str, case: Case) -> None:
    env, companions = OPTIONS[field].env, _COMPANIONS.get(field, {})
    given = {**companions, field: case.value}
    bad = case.bad_texts[0] if case.bad_texts else "elsewhere"
    for config in (
        Config.from_env({env: case.text}, **companions),
        Config(**given),
        Config.from_env({env: bad}, **given),
    ):
        assert getattr(config, field) == case.value
        assert type(getattr(config, field)) is type(case.value)


_FLAGS = [field for field, case in CASES.items() if isinstance(case.value, bool)]


@pytest.mark.parametrize("field", _FLAGS)
@pytest.mark.parametrize(
    ("words", "meaning"), [("true t yes y on 1", True), ("false f no n off 0", False)], ids=["true", "false"]
)
def test_a_boolean_is_read_in_every_usual_spelling(field: str, words: str, meaning: bool) -> None:
    for word in words.split():
        for spelling in (word, word.upper(), word.capitalize(), f" {word} "):
            assert getattr(Config.from_env({OPTIONS[field].env: spelling}), field) is meaning, spelling


@pytest.mark.parametrize("field", OPTIONS)
def test_an_empty_variable_is_an_unset_one(field: str) -> None:
    config, default = Config.from_env({OPTIONS[field].env: ""}), Config()
    if field == "instance":
        assert config.instance
    else:
        assert getattr(config, field) == getattr(default, field)


@pytest.mark.parametrize(("field", "text"), _BAD_TEXTS)
def test_a_bad_text_is_refused_with_the_variable_the_value_and_what_is_allowed(field: str, text: str) -> None:
    option = OPTIONS[field]
    with pytest.raises(ConfigError) as caught:
        Config.from_env({option.env: text})
    error = caught.value
    assert (error.name, error.allowed) == (option.env, option.allowed)
    assert error.value == "***" if option.secret else str(error.value).strip() == text.strip()
    assert str(error) == f"{option.env}={error.value!r} cannot be used; allowed: {option.allowed}"


@pytest.mark.parametrize(("field", "value"), _BAD_VALUES)
def test_a_bad_value_in_code_is_refused_with_the_field_the_value_and_what_is_allowed(field: str, value: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        Config(**{field: value})
    assert (caught.value.name, caught.value.allowed) == (field, OPTIONS[field].allowed)
    assert caught.value.value == "***" if OPTIONS[field].secret else caught.value.value is value


def test_an_overriding_bad_value_is_named_by_its_field() -> None:
    with pytest.raises(ConfigError) as caught:
        Config.from_env({"SW_AGENT_SPAN_LIMIT_PER_SEGMENT": "7"}, span_limit=0)
    assert (caught.value.name, caught.value.value) == ("span_limit", 0)


@pytest.mark.gate
@given(st.sampled_from(sorted(OPTIONS)), st.text())
def test_any_text_is_taken_or_refused_in_one_way(field: str, text: str) -> None:
    companions = _COMPANIONS.get(field, {})
    error = _error_of(lambda: Config.from_env({OPTIONS[field].env: text}, **companions))
    assert error is None or error.name in {OPTIONS[field].env, *companions}


@given(
    st.sampled_from(sorted(OPTIONS)),
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary(), st.lists(st.integers())),
)
def test_any_value_in_code_is_taken_or_refused_in_one_way(field: str, value: object) -> None:
    settings: dict[str, Any] = {**_COMPANIONS.get(field, {}), field: value}
    error = _error_of(lambda: Config(**settings))
    assert error is None or error.name in settings


def test_values_in_code_may_be_of_other_kinds_and_are_copied() -> None:
    mine = {"zone": "a"}
    config = Config(
        span_limit=7.0, heartbeat_period=2, ignore_suffix=[".a"], propagate_to="a, b",  # type: ignore[arg-type]
        instance_properties=MappingProxyType(mine),
    )  # fmt: skip
    mine["zone"] = "b"
    assert (config.span_limit, type(config.span_limit)) == (7, int)
    assert (config.heartbeat_period, type(config.heartbeat_period)) == (2.0, float)
    assert (config.ignore_suffix, config.propagate_to) == ((".a",), ("a", "b"))
    assert config.instance_properties == {"zone": "a"}


@pytest.mark.gate
@given(st.dictionaries(st.text(), st.one_of(st.text(), st.integers(), st.booleans())))
def test_properties_of_any_text_are_read_from_json(properties: dict[str, Any]) -> None:
    config = Config.from_env({"SW_AGENT_INSTANCE_PROPERTIES_JSON": json.dumps(properties)})
    assert config.instance_properties == {key: str(value) for key, value in properties.items()}


async def _decide_later(scope: object) -> bool:
    return False


@pytest.mark.parametrize("value", [None, "true", 1, _decide_later])
def test_trust_is_yes_or_no_or_a_decision(value: Any) -> None:
    with pytest.raises(ConfigError, match="trust_incoming"):
        Config(trust_incoming=value)
    assert callable(Config(trust_incoming=lambda scope: True).trust_incoming)
    assert Config(trust_incoming=False).trust_incoming is False


def test_a_namespace_follows_the_services_name() -> None:
    assert Config(service="cart").service_name == "cart"
    assert Config(service="cart", namespace="test").service_name == "cart|test"


def test_a_config_cannot_be_changed_but_replaced() -> None:
    config = Config(service="cart", authentication="token")  # type: ignore[arg-type]
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.service = "other"  # type: ignore[misc]
    changed = dataclasses.replace(config, span_limit=7)
    assert (changed.service, changed.span_limit, changed.authentication) == ("cart", 7, Secret("token"))


def test_its_arguments_are_those_of_a_dataclass() -> None:
    parameters = inspect.signature(Config).parameters
    assert list(parameters) == [field.name for field in dataclasses.fields(Config)]
    assert parameters["span_limit"].default == Config().span_limit
    assert {each.kind for each in parameters.values()} == {inspect.Parameter.KEYWORD_ONLY}
    unknown: Any = {"sevice": "cart"}
    with pytest.raises(TypeError, match="unexpected keyword argument 'sevice'"):
        Config(**unknown)
    by_position: Any = Config
    with pytest.raises(TypeError, match="positional"):
        by_position("cart")


@pytest.mark.parametrize("lonely", ["tls_cert", "tls_key"])
def test_a_client_certificate_needs_its_key_and_the_other_way_round(lonely: str) -> None:
    with pytest.raises(ConfigError, match="both tls_cert and tls_key") as caught:
        Config.from_env({OPTIONS[lonely].env: "/a.pem"})
    assert caught.value.name == OPTIONS[lonely].env


@pytest.mark.parametrize(
    ("setting", "native", "on_trio", "every"),
    [
        (None, None, False, 100), (None, object(), False, 1), (None, object(), True, 100), (None, None, True, 100),
        (1, None, True, 1), (7, object(), False, 7), (0, object(), False, 0),
    ],
)  # fmt: skip
def test_the_time_of_each_request_is_split_where_it_costs_little(
    setting: int | None, native: Any, on_trio: bool, every: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("swagent.acceleration.native", native)
    assert Config(time_split_every=setting).splits_every(on_trio=on_trio) == every


@pytest.mark.parametrize(("setting", "every"), [(None, 1), (7, 7), (0, 0)])
def test_the_time_of_each_request_that_a_thread_serves_is_split(setting: int | None, every: int) -> None:
    assert Config(time_split_every=setting).splits_threads_every == every
