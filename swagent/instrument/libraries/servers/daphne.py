"""daphne: the application where its server gets it, by the command line or by Django's `runserver`. It has no lifespan
for the agent to live in."""

from __future__ import annotations

from typing import Any

from ....hosting.late_start import start_now
from ...arguments import Args, Kwargs
from ...instrumentation import Instrumentation
from ...looking import before_function
from ...patches import Patches
from .serving import wrap_asgi, wrapping


def _hook(module: Any, patches: Patches) -> None:
    patches.wrap(module.Server, "__init__", wrapping(wrap_asgi, 1, "application"))
    # now, so that no request waits for it
    patches.wrap(module.Server, "run", before_function(_start))


def _start(_args: Args, _kwargs: Kwargs) -> None:
    start_now()


INSTRUMENTATION = Instrumentation(
    name="daphne",
    module="daphne.server",
    hook=_hook,
    versions=">=4,<5",
    opentelemetry=("asgi",),
)
