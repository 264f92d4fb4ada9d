"""pytest, under `swagent run`: no warning of a module that only the agent has imported before pytest.

pytest rewrites the assertions of its plugins while they are imported, and warns of a plugin's package that is there
already (`PytestAssertRewriteWarning`; under `-W error` it ends). The agent needs some of these packages, anyio above
all. All that pytest does stays: modules of such a package that are imported later are rewritten. Only the warning is
left out, and only for what was not there before the agent came.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Container
from typing import Any

from wrapt import register_post_import_hook

from ..agent_log import say
from .patches import HookError, Patches

_MODULE = "_pytest.assertion.rewrite"


def spare_warnings(before: Container[str]) -> None:
    """Let pytest not warn of the modules that the agent has imported until now. It is not imported for that.

    :param before: the names of the modules that were there before the agent came
    """
    ours = {name: module for name, module in sys.modules.items() if name not in before}

    def hook(module: Any) -> None:
        try:
            Patches().wrap(module.AssertionRewritingHook, "_warn_already_imported", _sparing(ours))
        except (AttributeError, HookError) as error:
            say(logging.INFO, "pytest is not as expected, and may warn of modules of the agent's: %s", error)

    register_post_import_hook(hook, _MODULE)


def _sparing(ours: dict[str, Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def make(warn: Callable[..., Any]) -> Callable[..., Any]:
        def warn_of_others(self: Any, name: str) -> None:
            if name not in ours or sys.modules.get(name) is not ours[name]:
                warn(self, name)

        return warn_of_others

    return make
