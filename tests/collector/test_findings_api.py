"""The findings as the API answers them."""

from __future__ import annotations

import pytest

from collector.made_traces import made, store_of
from collector.served import START, Api
from collector.test_findings_now import failing, payments
from collector.test_findings_of_a_trace import payment

pytestmark = pytest.mark.anyio


async def test_the_findings_of_all_of_a_time_and_of_a_trace() -> None:
    api = Api(store_of(*payments(100), failing(3), made(payment(3170, 160), 20_000, "slow")))
    answer = await api("findings")
    assert (answer["requests"], answer["version"]) == (102, api.store.version)
    first, second = answer["findings"]
    assert (first["kind"], first["service"], first["operation"]) == ("slow_dependency", "payments", "SELECT balance")
    assert first["baseline"] == {"p50": 8, "calls": 101}
    assert {"trace_id": "slow", "span": first["places"][0]["span"]} in first["places"]
    assert (second["kind"], second["failures"], second["baseline"]) == ("error_chain", 1, None)
    assert (await api("findings", from_=START + 30_000))["requests"] == 0
    within = await api("findings", from_=START + 20_000, to=START + 21_000)
    assert (within["requests"], within["findings"]) == (1, [])
    since = await api("findings", at=START + 5000)
    assert "regression" not in {each["kind"] for each in since["findings"]}
    assert await api("findings", at="noon", status=400) == {"error": "at: takes a whole number, not 'noon'"}
    of_one = await api("traces/slow/findings")
    assert (of_one["trace_id"], of_one["findings"]) == ("slow", [of_one["culprit"]])
    await api("traces/none/findings", status=404)
