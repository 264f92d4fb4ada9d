"""Made-up profiles: tasks in each state, and the stacks of five orders."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, repeat

from swagent.collector.store.profile_tasks import ProfileTask
from swagent.collector.store.records import ProfileFinish, ThreadSnapshot
from swagent.collector.store.store import Store
from swagent.collector.store.trace_records import Segment

ENDPOINT = "POST:/orders/{item}"
SERVER = ("uvicorn.protocols.http.run_asgi:403", "starlette.applications.Starlette.__call__:112",
          "fastapi.routing.serialize:301", "fastapi.routing.run_endpoint_function:212")  # fmt: skip
CLIENT = ("httpx.AsyncClient.request:1530", "httpx.AsyncClient.send:1617", "httpcore.handle_async_request:256")
# the way below the server, the state, how many looks in each request
_WAYS = (
    (("shop.orders.order:41", "shop.prices.price:12", "[running]"), 21),
    (("shop.orders.order:44", "shop.stock.reserve:19", *CLIENT, "[awaiting /stock stock:8000]"), 64),
    (("shop.orders.order:44", "shop.stock.reserve:21", "[ready, loop busy]"), 7),
    (("shop.orders.order:47", "asyncio.tasks.sleep:649", "[awaiting asyncio.sleep]"), 28),
)
_BESIDE = ((f"{ENDPOINT} / task Task-7", "shop.mail.confirm:8", "[awaiting asyncio.to_thread]"), 9)
_PERIOD_MS = 2


def order(store: Store, name: str, created: int, service: str = "shop", endpoint: str = ENDPOINT) -> None:
    """Make a task."""
    store.order_profile(ProfileTask(name, service, endpoint, 60, 10, 5, 0, created))


def take(store: Store, task: str, segments: Sequence[Segment], *, is_over: bool = False) -> None:
    """Have an agent of the shop take a task, and follow these requests."""
    store.assign_profiles("shop", "shop-1", 0)
    for number, segment in enumerate(segments):
        for snapshot in _stacks(task, segment, 1000 * number + 100):
            store.add(snapshot)
    if is_over:
        store.add(ProfileFinish("shop", "shop-1", task))


def _stacks(task: str, segment: Segment, first: int) -> Iterator[ThreadSnapshot]:
    own = list(chain.from_iterable(repeat((ENDPOINT, *SERVER, *way), looks) for way, looks in _WAYS))
    way, looks = _BESIDE
    start = min(each.start_time for each in segment.spans)
    # the last look of each has no time; between the two is a number without one
    for begin, stacks in ((first, [*own, own[-1]]), (first + len(own) + 2, [way] * (looks + 1))):
        for number, stack in enumerate(stacks):
            yield ThreadSnapshot(task, segment.segment_id, start + number * _PERIOD_MS, begin + number, stack)
