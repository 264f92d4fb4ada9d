"""Whether the settings can surely be used, found without the configuration, which takes longer to import than an idle
process is to live.

The answer is yes or "perhaps": then the configuration itself reads them, and reports what is wrong, at the same place.
So nothing here reports a mistake, and each value that is not of the simplest form is left to the configuration.
"""

from __future__ import annotations

import sys

from .tables import CHOICES, FLAGS, LINES, NUMBERS, TRANSPORTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "SW_AGENT_NAME"
UNNAMED = "Python Service Name"
"""The name of a service that has none, as the official agent has it."""
PROTOCOL = "SW_AGENT_PROTOCOL"
COMPATIBILITY = "SW_AGENT_COMPATIBILITY"
ADDRESSES = "SW_AGENT_COLLECTOR_BACKEND_SERVICES"
START_AFTER = "SW_AGENT_START_AFTER"
LOG_LEVEL = "SW_AGENT_LOGGING_LEVEL"
PROPAGATE_THREADS = "SW_AGENT_PROPAGATE_THREADS"
PROFILE_INTERVAL = "SW_AGENT_COLLECTOR_GET_PROFILE_TASK_INTERVAL"
LOCAL_INTERVAL = 2
"""Seconds between two polls for profile tasks, where the collector is on this machine."""
NO_NAME = "this service has no name and reports as %r: set %s, or service= in code"
_OURS = "SW_"
_WORDS = frozenset(("true", "false", "yes", "no", "on", "off", "1", "0"))
_MOST_DIGITS = 7
_MOST_PORT = 65535
_FILES = ("swagent.toml", "pyproject.toml")
_TABLE = b"tool.swagent"
# Of levels that leave out a line at WARNING.
_SILENT = frozenset(("error", "fatal", "critical"))
VENDORED: frozenset[str] = frozenset()
"""The modules of others that this copy of swagent holds in a package of its own: none, but in the folder that
`make inject` builds."""
# What the agent itself is made of.
_NEEDED = ("anyio", "typing_extensions")


def settings_of(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that the agent reads."""
    return {name: text for name, text in environ.items() if name.upper().startswith(_OURS)}


def are_surely_usable(settings: Mapping[str, str]) -> bool:
    """Whether these variables can be used, and no file of the project has settings."""
    return all(_is_usable(name, text) for name, text in settings.items() if text) and not _may_have_file()


def warning_of_default_name(settings: Mapping[str, str]) -> str:
    """A line for a service without a name; empty where it has one, or such lines are left out."""
    if settings.get(NAME, UNNAMED) not in ("", UNNAMED) or settings.get(LOG_LEVEL) in _SILENT:
        return ""
    return NO_NAME % (UNNAMED, NAME)


def are_on_this_machine(settings: Mapping[str, str]) -> bool:
    """Whether all addresses, which can be used, are of this machine."""
    addresses = settings.get(ADDRESSES) or "127.0.0.1:0"
    hosts = [each.strip().rpartition(":")[0] for each in addresses.split(",") if each.strip()]
    return all(host == "localhost" or host.startswith("127.") for host in hosts)


def defaults_without_code(settings: Mapping[str, str]) -> dict[str, str]:
    """The variables that are set where the application has no line of ours, and the user has not set them."""
    missing: dict[str, str] = {}
    if not settings.get(PROPAGATE_THREADS):
        # a user who instruments nothing by hand does not carry contexts over by hand either
        missing[PROPAGATE_THREADS] = "true"
    if not settings.get(PROFILE_INTERVAL) and are_on_this_machine(settings):
        # a developer waits for the profile, and the requests cost nothing on a local collector
        missing[PROFILE_INTERVAL] = str(LOCAL_INTERVAL)
    return missing


def seconds_until_start(settings: Mapping[str, str]) -> float:
    """How long a process lives before it has an agent without a need; the default where that cannot be read."""
    text = settings.get(START_AFTER, "")
    return float(text) if text.isascii() and text.isdigit() else 10.0


def is_installed(settings: Mapping[str, str]) -> bool:
    """Whether the transport that is set is one of ours, and all that it needs can be imported. It is not imported."""
    needed = TRANSPORTS.get(settings.get(PROTOCOL) or "grpc")
    return needed is not None and all(map(_is_installed, (*_NEEDED, *needed)))


def _is_installed(module: str) -> bool:
    if module in VENDORED or module in sys.modules:
        return True
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)
        if find is not None and find(module, None, None) is not None:
            return True
    return False


def _is_usable(name: str, text: str) -> bool:
    if name in FLAGS:
        return text.lower() in _WORDS
    if name in NUMBERS:
        low, high = NUMBERS[name]
        return text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS and low <= int(text) <= high
    if name in CHOICES:
        return text in CHOICES[name]
    if name == ADDRESSES:
        return all(map(_is_plain_address, text.split(",")))
    if name == PROTOCOL:
        return text in TRANSPORTS
    return name in LINES and text.isprintable() and bool(text.strip())


def _is_plain_address(text: str) -> bool:
    host, colon, port = text.strip().rpartition(":")
    is_name = host.isascii() and host.replace("-", "").replace(".", "").isalnum()
    return bool(colon) and is_name and port.isdigit() and port.isascii() and len(port) <= len(str(_MOST_PORT)) and (
        0 < int(port) <= _MOST_PORT
    )  # fmt: skip


def _may_have_file() -> bool:
    for name in _FILES:
        try:
            with open(name, "rb", 0) as file:
                text = file.read()
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            return True
        if name == _FILES[0] or _TABLE in text:
            return True
    return False
