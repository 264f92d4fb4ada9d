"""The findings as the API answers them."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from collector.made_traces import made
from collector.served import START, serving
from collector.test_api import Api
from collector.test_findings_now import failing, payments
from collector.test_findings_of_a_trace import payment

pytestmark = pytest.mark.anyio


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with serving() as (collector, client):
        for trace in (*payments(100), failing(3), made(payment(3170, 160), 20_000, "slow")):
            for segment in trace:
                collector.store.add(segment)
        yield Api(collector.store, client)


async def test_all_findings(api: Api) -> None:
    answer = await api("findings")
    assert (answer["requests"], answer["version"]) == (102, api.store.version)
    first, second = answer["findings"]
    assert (first["kind"], first["service"], first["operation"]) == ("slow_dependency", "payments", "SELECT balance")
    assert first["baseline"] == {"p50": 8, "calls": 101}
    assert {"trace_id": "slow", "span": first["places"][0]["span"]} in first["places"]
    assert (second["kind"], second["failures"], second["baseline"]) == ("error_chain", 1, None)


async def test_those_of_a_time(api: Api) -> None:
    assert (await api("findings", **{"from": START + 30_000}))["requests"] == 0
    answer = await api("findings", **{"from": START + 20_000, "to": START + 21_000})
    assert (answer["requests"], answer["findings"]) == (1, [])


async def test_what_got_worse_since_a_moment(api: Api) -> None:
    answer = await api("findings", at=START + 5000)
    assert "regression" not in {each["kind"] for each in answer["findings"]}
    assert await api("findings", at="noon", status=400) == {"error": "at: takes a whole number, not 'noon'"}


async def test_the_findings_of_a_trace(api: Api) -> None:
    answer = await api("traces/slow/findings")
    assert answer["trace_id"] == "slow"
    assert answer["culprit"]["sentence"] == (
        "95 % · payments → ledger-db:5432 · SELECT balance · 3.17 s, usually 8 ms (p50 of 100)"
    )
    assert answer["findings"] == [answer["culprit"]]


async def test_a_trace_that_is_not_kept(api: Api) -> None:
    await api("traces/none/findings", status=404)
