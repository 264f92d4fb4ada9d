"""Made-up profiles: tasks in each state, and the merged stacks of one, as the page's JSON API gives them."""

from __future__ import annotations

import time
from typing import Any

Record = dict[str, Any]

ENDPOINT = "POST:/orders/{item}"
SERVER = ("uvicorn.protocols.http.run_asgi:403", "starlette.applications.Starlette.__call__:112",
          "fastapi.routing.serialize:301", "fastapi.routing.run_endpoint_function:212")  # fmt: skip
CLIENT = ("httpx.AsyncClient.request:1530", "httpx.AsyncClient.send:1617", "httpcore.handle_async_request:256")
# the way below the server, how long, the state
_WAYS = (
    (("shop.orders.order:41", "shop.prices.price:12"), 210, "[running]"),
    (("shop.orders.order:44", "shop.stock.reserve:19", *CLIENT), 640, "[awaiting /stock stock:8000]"),
    (("shop.orders.order:44", "shop.stock.reserve:21"), 70, "[ready, loop busy]"),
    (("shop.orders.order:47", "asyncio.tasks.sleep:649"), 280, "[awaiting asyncio.sleep]"),
)
_BESIDE = (("shop.mail.confirm:8", "asyncio.threads.to_thread:25"), 90, "[awaiting asyncio.to_thread]")


def make_nodes(only: str = "") -> list[Record]:
    """The calls, each before those that it made.

    :param only: of one segment, whose times are a fifth
    """
    part = 5 if only else 1
    ways = [((ENDPOINT, *SERVER, *way, state), ms // part) for way, ms, state in _WAYS]
    way, ms, state = _BESIDE
    ways.append(((f"{ENDPOINT} / tasks", *way, state), ms // part))
    found: dict[tuple[str, ...], int] = {}
    for names, ms in ways:
        for depth in range(len(names)):
            found[names[: depth + 1]] = found.get(names[: depth + 1], 0) + ms
    return [_node(names, ms) for names, ms in found.items()]


def _node(names: tuple[str, ...], ms: int) -> Record:
    name = names[-1]
    state = next((state for state in ("running", "ready", "awaiting") if name.startswith(f"[{state}")), "")
    library = name.split(".")[0] in ("uvicorn", "starlette", "fastapi", "httpx", "httpcore", "asyncio")
    return {
        "depth": len(names) - 1, "name": name, "state": state, "library": library, "beside": name.endswith("/ tasks"),
        "count": max(1, ms // 10), "ms": ms, "self_ms": 0, "oap_ms": max(0, ms - 10),
    }  # fmt: skip


def make_task(task: str, state: str, segments: list[Record], **changes: Any) -> Record:
    """One task, with the segments that have stacks of it."""
    now = int(time.time() * 1000)
    known = {
        "id": task, "service": "shop", "endpoint": ENDPOINT, "seconds": 60, "period_ms": 10, "samples": 5, "min_ms": 0,
        "created": now - 8_000, "asking": 2, "taken": {}, "finished": {},
    }  # fmt: skip
    if state in ("running", "finished"):
        known["taken"] = {"shop-1": now - 6_000}
    if state == "finished":
        known["finished"] = {"shop-1": now - 1_000}
    return {**known, **changes, "state": state, "segments": segments}


def make_segment(trace: Record, segment: str) -> Record:
    """A profiled segment of a trace."""
    root = next(each for each in trace["spans"] if each["id"].startswith(f"{segment}:"))
    return {
        "segment_id": segment, "trace_id": trace["trace_id"], "instance": root["instance"],
        "service": root["service"], "endpoint": root["operation"], "start": root["start"],
        "duration": root["end"] - root["start"], "snapshots": 24,
    }  # fmt: skip
