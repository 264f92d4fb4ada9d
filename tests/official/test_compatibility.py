"""SW_AGENT_COMPATIBILITY=official: which settings have other defaults, and which spans look otherwise."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from record.recorded import Recorder
from swagent import Config, ConfigError, entry_span
from swagent.config.official import OFFICIAL
from swagent.instrument import settings
from swagent.instrument.configured import settings_of
from swagent.instrument.libraries.http.http_call import begin_http_call
from swagent.request.description import admit, describe, use_endpoint_style
from swagent.request.facts import UNMATCHED, Facts

VARIABLE = "SW_AGENT_COMPATIBILITY"


@pytest.fixture
def as_official() -> Iterator[None]:
    use_endpoint_style("path", as_official=True)
    settings.use(settings_of(Config.from_env({VARIABLE: "official"})))
    yield
    use_endpoint_style("route")


def test_it_changes_the_defaults_and_nothing_that_is_set() -> None:
    usual, official = Config.from_env({}), Config.from_env({VARIABLE: "Official"})
    assert official.compatibility == "official"
    assert {name: getattr(official, name) for name in OFFICIAL} == OFFICIAL
    assert all(getattr(usual, name) != value for name, value in OFFICIAL.items())
    set_by_user = Config.from_env({VARIABLE: "official", "SW_PLUGIN_CACHE_KEYS": "false"}, endpoint_style="route")
    assert (set_by_user.plugin_cache_keys, set_by_user.endpoint_style) == (False, "route")
    assert set_by_user.plugin_sql_statements
    assert Config.from_env({}, compatibility="official").plugin_sql_statements


def test_another_word_is_refused() -> None:
    with pytest.raises(ConfigError, match=VARIABLE):
        Config.from_env({VARIABLE: "officially"})


@pytest.mark.usefixtures("as_official")
@pytest.mark.parametrize(("template", "status"), [("/orders/{item}", 200), (UNMATCHED, 404), (None, 400)])
def test_a_request_is_its_path_and_fails_from_400_on(recorder: Recorder, template: str | None, status: int) -> None:
    facts = Facts("GET", "http", b"shop:80", "/orders/lamp", template, 7014, status)
    described = describe(facts, real_path=True)
    assert admit(described, facts, recorder.tracer.endpoints) == "/orders/lamp"
    assert described.failed == (status >= 400)
    assert ("http.url", "http://shop:80/orders/lamp") in described.tags


@pytest.mark.usefixtures("as_official")
def test_paths_that_no_route_matches_are_limited_in_number(recorder: Recorder) -> None:
    facts = [Facts("GET", "http", b"shop", f"/guess/{each}", UNMATCHED, 7014, 404) for each in range(2000)]
    names = {admit(describe(each), each, recorder.tracer.endpoints) for each in facts}
    assert "_overflow" in names
    assert len(names) <= 1000


@pytest.mark.usefixtures("as_official")
def test_the_path_and_the_host_of_a_call_are_as_they_were_given(recorder: Recorder) -> None:
    with entry_span("request"):
        for port, path in ((None, "/orders/17"), (8080, "")):
            span = begin_http_call("GET", "http", "stock", port, path, 7002)
            assert span is not None
            span.stop()
    first, second = recorder.only.spans[:2]
    assert (first.name, first.peer, first.tags[1]) == ("/orders/17", "stock", ("http.url", "http://stock/orders/17"))
    assert (second.name, second.peer) == ("/", "stock:8080")
