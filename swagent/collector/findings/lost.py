"""The records that agents lost: findings of the ledgers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..api.losses import losses
from ..store.store import Store
from .finding import Finding, view_link
from .words import plural


def lost(store: Store, bounds: Mapping[str, int]) -> Iterator[Finding]:
    """A finding for each service that lost records.

    :raises StoreError: when the store cannot be read
    """
    by_service: dict[str, list[dict[str, Any]]] = {}
    for each in losses(store, bounds.get("from", 0), bounds.get("to", 2**62))["losses"]:
        by_service.setdefault(each["service"], []).append(each)
    for service, found in by_service.items():
        count = sum(each["count"] for each in found)
        parts = ", ".join(f"{each['count']:,} of {each['signal']} ({each['reason']})" for each in found[:3])
        yield Finding(
            "losses", f"{service} lost {plural(count, 'record')}: {parts}", service, "", "high", view_link("runtime"),
            count=count,
        )  # fmt: skip
