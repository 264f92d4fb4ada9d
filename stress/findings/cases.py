"""A case: what two small services do, and what has to be found in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

SEVERITIES = ("mild", "middle", "severe")
MIDDLE = "middle"


@dataclass(frozen=True)
class Case:
    """Something planted, or a healthy variant.

    :ivar kind: of the finding that has to be there; empty: nothing is amiss
    :ivar about: a part of its sentence
    :ivar also: kinds that are right beside it, since they are its effects
    :ivar levels: the numbers that the handlers get, by severity
    :ivar requests: how many are sent, so many at a time
    :ivar path: of the service `shop`, which is asked; with `{n}` for the number of the request
    :ivar every: each request of this number goes to `other`, where there is one
    :ivar restarted: the service that is started again in the middle, as its next generation
    :ivar hard: why it is expected to fail; empty: it is not
    """

    name: str
    kind: str = ""
    about: str = ""
    also: frozenset[str] = frozenset()
    levels: tuple[float, float, float] = (0, 0, 0)
    requests: int = 80
    at_once: int = 2
    path: str = "/work?n={n}"
    other: str = ""
    every: int = 10
    restarted: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    hard: str = ""

    @property
    def is_planted(self) -> bool:
        """Whether something is amiss in it."""
        return bool(self.kind)

    def level(self, severity: str) -> float:
        """The number that the handlers get."""
        return self.levels[SEVERITIES.index(severity)]


def _also(*kinds: str) -> frozenset[str]:
    return frozenset(kinds)


PLANTED = (
    Case("database", "slow_dependency", "SELECT balance", levels=(60, 250, 800)),
    Case("partner", "slow_dependency", "/rate", levels=(60, 250, 800)),
    Case("thread", "slow_own_code", "thread", levels=(80, 250, 800), at_once=1),
    Case("chunks", "slow_own_code", "GET:/work", levels=(60, 250, 800), at_once=1),
    Case("queue", "slow_wait", "Queue.get", levels=(60, 250, 800)),
    Case("pool", "pool", "for a connection of :memory:, 2 of 2", levels=(60, 250, 800), requests=160, other="/report",
         every=20, at_once=4),
    Case("always_waiting", "pool", "requests wait for a connection of :memory:, 2 of 2", levels=(5, 20, 60),
         requests=160, at_once=12),
    Case("report", "blocked_loop", "print_report", levels=(60, 200, 600), other="/report", at_once=4),
    Case("background", "blocked_loop", "compact", levels=(60, 200, 600), at_once=4, requests=200),
    Case("hidden", "blocked_loop", "print_report", levels=(60, 200, 600), other="/report", at_once=6),
    Case("downstream", "blocked_loop", "print_report", levels=(60, 200, 600), at_once=4),
    Case("queries", "n_plus_one", "FROM items", _also("blocked_loop"), levels=(6, 15, 60), requests=40),
    Case("items", "n_plus_one", "GET:/items/{item}", levels=(6, 15, 40), requests=40),
    Case("retries", "retry_storm", "GET:/part", _also("error_chain"), levels=(2, 4, 8)),
    Case("stock", "error_chain", "OutOfStock", levels=(40, 10, 2)),
    Case("deadline", "cancelled", "deadline", _also("error_chain", "slow_wait"), levels=(120, 400, 1200)),
    Case("sibling", "cancelled", "because the request failed: ValueError", _also("error_chain"), levels=(20, 10, 3)),
    Case("deployment", "regression", "GET:/part", _also("slow_dependency"), levels=(13, 30, 120), restarted="stock",
         requests=120, at_once=1),
    Case("sequence", "sequential_awaits", "/rate", levels=(20, 60, 200), requests=30),
    Case("tenant", "hot_attribute", "tenant=globex", _also("slow_dependency"), levels=(60, 250, 800), requests=120),
    Case("backlog", "queue_latency", "orders/Consumer", levels=(60, 400, 800), requests=280, at_once=1),
    Case("loop_each", "loop_runs", "one for each call to 127.0.0.1", _also("n_plus_one"), levels=(3, 12, 30),
         requests=30),
    Case("losses", "losses", "segment", levels=(400, 1500, 3000), requests=40,
         settings={"SW_AGENT_TRACE_REPORTER_MAX_BUFFER_SIZE": "100"}),
)  # fmt: skip

HEALTHY = (
    Case("calm"),
    Case("always_long", requests=40, at_once=4),
    Case("together", requests=40),
    Case("five_queries"),
    Case("one_batch", requests=40),
    Case("one_retry"),
    Case("not_found"),
    Case("cache_misses"),
    Case("short_work", at_once=1),
    Case("same_deployment", restarted="stock", requests=120, at_once=1),
    Case("steady_thread", requests=40, at_once=1),
    Case("spread"),
    Case("long_poll", requests=40, at_once=4),
    Case("sizes"),
    Case("writes", requests=40),
    Case("pool_with_room", at_once=4),
    Case("busy_pool", requests=120, at_once=6),
    Case("short_lock", at_once=4),
    Case("tenants", requests=120),
    Case("quick_queue", requests=120, at_once=1),
    Case("sent_for_later", requests=60),
    Case("one_loop", requests=30),
)

OTHERS = (
    Case("cache", "slow_dependency", "GET item", levels=(60, 250, 800)),
    Case("two_deep", "slow_dependency", "/rate", levels=(60, 250, 800)),
    Case("lock", "lock", "asyncio.Lock at findings/others.py", levels=(60, 250, 800), requests=160, other="/report",
         every=20, at_once=4),
    Case("slow_thread", "slow_own_code", "thread", levels=(60, 250, 800), at_once=1),
    Case("parsing", "blocked_loop", "compute", levels=(50, 200, 600), at_once=1),
    Case("cached_items", "n_plus_one", "GET item", levels=(6, 20, 60), requests=40),
    Case("prices", "n_plus_one", "SELECT price", levels=(6, 15, 60), requests=40),
    Case("impatient", "retry_storm", "/rate", _also("cancelled", "error_chain", "slow_dependency"), levels=(2, 4, 8)),
    Case("own_error", "error_chain", "KeyError", levels=(40, 10, 2)),
    Case("partner_away", "error_chain", "ConnectError", levels=(40, 10, 2)),
    Case("more_errors", "regression", "errors", _also("error_chain"), levels=(10, 3, 1), restarted="stock",
         requests=120, at_once=1),
    Case("inner_deadline", "cancelled", "deadline", _also("error_chain", "slow_dependency"), levels=(120, 400, 1200)),
    Case("two_speeds"),
    Case("rare"),
    Case("nine", requests=40),
    Case("cold_cache"),
    Case("afterwards"),
    Case("bad_requests"),
    Case("all_compute"),
    Case("two_at_once"),
)  # fmt: skip
"""Both, written after the engine had been adjusted to the others."""

HARD = (
    Case("from_the_start", "slow_dependency", "SELECT balance", levels=(60, 250, 800), requests=40, at_once=4,
         hard="it was never quicker: there is no baseline"),
    Case("small_pool", "lock", "asyncio.Semaphore", _also("slow_dependency"), levels=(40, 80, 160), at_once=8,
         hard="so many requests wait that it is the usual"),
    Case("dependent", requests=30, hard="the second call needs the answer of the first, and spans do not say so"),
    Case("pages", requests=30, hard="twelve pages of one query, each after the other, look like an N+1"),
    Case("callback", "blocked_loop", "compact", levels=(60, 200, 600), at_once=4, requests=200,
         hard="the watch does not see callbacks of uvloop's, only tasks"),
    Case("slow_together", "slow_dependency", "SELECT balance", levels=(60, 250, 800), every=2,
         hard="more than half of the calls are slow, so that is the median"),
)  # fmt: skip

CASES: Mapping[str, Case] = {case.name: case for case in (*PLANTED, *HEALTHY, *OTHERS, *HARD)}
