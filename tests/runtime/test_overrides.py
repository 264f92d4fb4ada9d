"""Settings that a collector changes at run time are in force for the requests that follow; when it takes them away,
they are as at the start."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from asgi.calling import Traced, answers, call, http_scope, traced
from swagent import Config, entry_span, local_span
from swagent.abc import Command
from swagent.agent_log import RateLimitedLog
from swagent.record.trace.tracer import Tracer
from swagent.runtime.overrides import Overrides
from swagent.runtime.setting_changes import SettingChanges

pytestmark = [pytest.mark.anyio, pytest.mark.one_loop]
SAMPLED, SUFFIX, PATH, SPANS = (
    "agent.sample_n_per_3_secs", "agent.ignore_suffix", "agent.trace.ignore_path", "agent.span_limit_per_segment",
)  # fmt: skip


def settings(uuid: str, **arguments: str) -> Command:
    return Command("ConfigurationDiscoveryCommand", {"SerialNumber": "s1", "UUID": uuid, **arguments})


def overrides_of(shop: Traced) -> Overrides:
    return shop.agent._recording.overrides


def counts_of(shop: Traced) -> dict[str, float]:
    samples: Any = shop.agent._recording.profiler.collect()
    return {dict(each.labels)["outcome"]: each.value for each in samples}


async def paths_recorded(shop: Traced, *paths: str) -> list[str]:
    """Those of the requested paths that are recorded."""
    found = []
    for path in paths:
        before = len(await shop.segments())
        await call(shop.app, http_scope(path))
        if len(await shop.segments()) > before:
            found.append(path)
    return found


async def test_ignored_paths_and_suffixes_follow_on_the_fast_path_and_the_full_one() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        if "/full" in scope["path"]:
            with local_span("work"):
                pass
        await answers()(scope, receive, send)

    asked = ("/a", "/full/a", "/b.tmp", "/full/b.tmp", "/c.css", "/own")
    async with traced(app, trace_ignore_path=("/own",)) as shop:
        before = ["/a", "/full/a", "/b.tmp", "/full/b.tmp"]
        assert await paths_recorded(shop, *asked) == before
        overrides_of(shop).follow([settings("1", **{PATH: "/a,/full/*", SUFFIX: ".tmp"})])
        assert await paths_recorded(shop, *asked) == ["/c.css", "/own"]
        overrides_of(shop).follow([settings("2", **{SUFFIX: ".tmp"})])
        assert await paths_recorded(shop, *asked) == ["/a", "/full/a", "/c.css"]
        overrides_of(shop).follow([settings("3")])
        assert await paths_recorded(shop, *asked) == before
        assert not overrides_of(shop).values


async def test_methods_that_are_ignored_since_the_start_stay_so() -> None:
    async with traced(answers(), plugin_http_ignore_method=("GET",)) as shop:
        overrides_of(shop).follow([settings("1", **{PATH: "/a"})])
        assert await paths_recorded(shop, "/b") == []


async def test_sampling_follows_and_requests_are_decided_late_again_afterwards() -> None:
    async with traced(answers()) as shop:
        tracer = shop.agent.tracer
        assert tracer.decides_late
        overrides_of(shop).follow([settings("1", **{SAMPLED: "1"})])
        assert not tracer.decides_late
        for _ in range(50):
            await call(shop.app, http_scope("/"))
        # of a window of three seconds; a busy machine may take several
        assert 1 <= len(await shop.segments()) < 50
        overrides_of(shop).follow([settings("2")])
        assert tracer.decides_late
        before = len(shop.arrived())
        for _ in range(50):
            await call(shop.app, http_scope("/"))
        assert len(await shop.segments()) == before + 50


async def test_requests_that_are_watched_or_judged_by_code_of_the_users_are_not_decided_late() -> None:
    async with traced(answers(), trust_incoming=lambda _: True) as shop:
        overrides_of(shop).follow([settings("1", **{SAMPLED: "5"})])
        overrides_of(shop).follow([settings("2")])
        assert not shop.agent.tracer.decides_late
    async with traced(answers(), sample_n_per_3_secs=5) as shop:
        shop.agent.tracer.watch_requests(lambda _: None)
        overrides_of(shop).follow([settings("1", **{SAMPLED: "0"})])
        assert shop.agent.tracer.may_decide_late
        assert not shop.agent.tracer.decides_late
        shop.agent.tracer.watch_requests(None)
        assert shop.agent.tracer.decides_late


async def test_the_limit_of_spans_follows() -> None:
    async with traced(answers(), span_limit=7) as shop:
        overrides_of(shop).follow([settings("1", **{SPANS: "2"})])
        with entry_span("request"):
            for _ in range(5):
                with local_span("work"):
                    pass
        assert sorted(len(each.spans) for each in await shop.segments()) == [1, 1, 2, 2]
        overrides_of(shop).follow([settings("2")])
        assert shop.agent.tracer.span_limit == 7


async def test_each_change_is_one_line_that_names_old_and_new(caplog: pytest.LogCaptureFixture) -> None:
    async with traced(answers(), ignore_suffix=(".css",)) as shop:
        caplog.clear()
        caplog.set_level(logging.INFO, "swagent")
        given = {SAMPLED: "2", SUFFIX: ".css", PATH: "/a,/b/**", "plugin.x": "y"}
        overrides_of(shop).follow([settings("1", **given)])
        overrides_of(shop).follow([settings("2", **{**given, PATH: "/a"})])
        overrides_of(shop).follow([settings("3")])
        said = [each.getMessage() for each in caplog.records if each.name == "swagent"]
    assert said[:5] == [
        "sample_n_per_3_secs is 2 now, as the collector sets it; it was 0",
        "trace_ignore_path is /a,/b/** now, as the collector sets it; it was (none)",
        "trace_ignore_path is /a now, as the collector sets it; it was /a,/b/**",
        "sample_n_per_3_secs is 0 now, as at the start; it was 2",
        "trace_ignore_path is (none) now, as at the start; it was /a",
    ]


async def test_a_collector_that_flips_a_setting_gets_few_lines_and_the_last_says_how_often(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "swagent")
    now = [1000.0]
    tracer = Tracer("shop", "shop-1", lambda _: None)
    overrides = Overrides(
        Config(service="shop"), tracer, lambda _: None, RateLimitedLog(), SettingChanges(lambda: now[0])
    )

    def flip(count: int) -> list[str]:
        """The lines about so many changes; of an answer without one, where there is none."""
        caplog.clear()
        for _ in range(count):
            number = int(overrides.uuid or 0) + 1
            overrides.follow([settings(str(number), **{SAMPLED: str(number % 2 + 1), PATH: "/a"})])
        if not count:
            overrides.follow(())
        return [each.getMessage().partition("the collector sets it; ")[2] for each in caplog.records]

    assert flip(100) == ["it was 0", "it was (none)", "it was 2", "it was 1"]
    assert overrides.values["sample_n_per_3_secs"] == 1, "each change is in force, said or not"
    since = "since the last line about it"
    for seconds, count, said in [
        (29, 10, []),
        (1, 0, [f"it changed 107 times {since}"]),
        (29, 1, []),
        (1, 2, [f"it changed 2 times {since}"]),
        (60, 0, ["it changed once more"]),
        (30, 1, ["it was 2"]),
    ]:
        now[0] += seconds
        assert flip(count) == said


async def test_a_command_without_effect_changes_nothing_and_is_counted(caplog: pytest.LogCaptureFixture) -> None:
    async with traced(answers()) as shop:
        follow, tracer = overrides_of(shop).follow, shop.agent.tracer
        follow([settings("1", **{SAMPLED: "4", PATH: "/a"})])
        before = (tracer.is_ignored, tracer._sampler, tracer.span_limit)
        caplog.clear()
        follow([settings("2", **{SAMPLED: "nan", PATH: "/evil"})] * 3)
        follow([settings("1", **{SAMPLED: "9"}), Command("ProfileTaskQuery", {}), Command("", {})])
        follow([])
        assert (tracer.is_ignored, tracer._sampler, tracer.span_limit) == before
        assert overrides_of(shop).uuid == "1"
        follow([settings("3", **{SAMPLED: "5", PATH: "/a"}), settings("4", **{SAMPLED: "6"})])
        assert overrides_of(shop).values == {"sample_n_per_3_secs": 5, "trace_ignore_path": ("/a",)}
        assert tracer.is_ignored is before[0], "what is the same keeps what it has learnt"
        assert counts_of(shop) == {"accepted": 2, "malformed": 3, "replayed": 1, "unknown": 2, "one_too_many": 1}
        warnings = [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]
        assert warnings == [
            "the collector's settings for this service are not followed: agent.sample_n_per_3_secs is no whole number"
        ]
