"""The instrumented libraries, and those that are left out with the reason: one line at the agent's start."""

from __future__ import annotations

import logging
from collections import defaultdict

from ..agent_log import log, say
from .installation import Report, State, is_any_wanted, report

# Those that record, and those that will once their library is imported, by the words for the recorder.
_RECORDED = {State.ACTIVE: State.ACTIVE.value, State.WAITING: State.ACTIVE.value}


def announce() -> None:
    """Say it. Never raises."""
    # finding out what is installed takes a while
    if not (log.isEnabledFor(logging.INFO) and log.hasHandlers()):
        return
    try:
        if not is_any_wanted():
            return
        line = summary(report())
    except Exception as error:  # noqa: BLE001, RUF100  (another package's instrumentation, and it is a word only)
        say(logging.WARNING, "cannot list what is recorded: %r", error)
    else:
        say(logging.INFO, "%s", line)


def summary(reports: list[Report]) -> str:
    """One line. Libraries that are not installed are left out: most are not."""
    recorded: defaultdict[str, list[str]] = defaultdict(list)
    left_out: list[str] = []
    for each in reports:
        if each.state is State.ABSENT:
            continue
        word = _RECORDED.get(each.state)
        if word is not None:
            recorded[word].append(each.name)
        else:
            left_out.append(f"{each.name} ({each.state.value}{': ' if each.reason else ''}{each.reason})")
    parts = [f"{', '.join(names)} ({word})" for word, names in recorded.items()]
    line = f"recorded by themselves: {'; '.join(parts) or 'no libraries'}"
    return f"{line}; left out: {', '.join(left_out)}" if left_out else line
