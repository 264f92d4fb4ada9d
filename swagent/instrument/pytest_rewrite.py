"""pytest, under `swagent run`: no warning of a module that only the agent has imported before pytest.

pytest rewrites the assertions of its plugins while they are imported, and warns of a plugin's package that is there
already (`PytestAssertRewriteWarning`; under `-W error` it ends). The agent needs some of these packages, anyio above
all. All that pytest does stays: modules of such a package that are imported later are rewritten. Only the warning is
left out, and only for what was not there before the agent came.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from ..agent_log import say
from ..startup.import_hook import is_our_import, when_imported
from .patches import HookError, Patches

_MODULE = "_pytest.assertion.rewrite"


def spare_warnings() -> None:
    """Let pytest not warn of the modules that the agent has imported. It is not imported for that."""

    def hook(module: Any) -> None:
        try:
            Patches().wrap(module.AssertionRewritingHook, "_warn_already_imported", _sparing)
        except (AttributeError, HookError) as error:
            say(logging.INFO, "pytest is not as expected, and may warn of modules of the agent's: %s", error)

    when_imported(_MODULE, hook)


def _sparing(warn: Callable[..., Any]) -> Callable[..., Any]:
    def warn_of_others(self: Any, name: str) -> None:
        if not is_our_import(name):
            warn(self, name)

    return warn_of_others
