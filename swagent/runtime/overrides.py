"""The settings that a collector has changed at run time, and how they are put in force.

A request reads what is in the tracer already. A change puts other objects there: no request waits for it or asks
for more than before, and one that is under way may see the old and the new.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..abc import Command
from ..agent_log import RateLimitedLog
from ..config import Config
from ..record.trace.ignore import compile_ignored
from ..record.trace.sampling import Sampler
from ..record.trace.tracer import Tracer
from .remote_settings import COMMAND, FOLLOWED, RemoteSettings, read_settings
from .setting_changes import SettingChanges


class Overrides:
    """One agent's.

    :ivar count: counts a command, or a poll without an answer, by what became of it
    :ivar uuid: of what the collector said last; empty before it said anything
    :ivar values: what it sets now, by the names of the settings
    """

    def __init__(
        self,
        config: Config,
        tracer: Tracer,
        count: Callable[[str], object],
        limited: RateLimitedLog,
        changes: SettingChanges | None = None,
    ) -> None:
        """:param changes: logs the changes of settings; None: by the clock of the machine"""
        self._changes = SettingChanges() if changes is None else changes
        self._tracer = tracer
        self.count = count
        self._limited = limited
        self._start: Mapping[str, Any] = {name: getattr(config, name) for name, _ in FOLLOWED.values()}
        self._methods = config.plugin_http_ignore_method
        self.uuid = ""
        self.values: Mapping[str, Any] = {}

    def follow(self, commands: Iterable[Command]) -> None:
        """Put in force what a collector said. Everything that is no change is counted and dropped."""
        chosen: RemoteSettings | None = None
        for command in commands:
            if command.name != COMMAND:
                self.count("unknown")
                continue
            try:
                found = read_settings(command.arguments)
            except ValueError as error:
                self.count("malformed")
                self._limited.warn("settings", "the collector's settings for this service are not followed: %s", error)
                continue
            if found.uuid == self.uuid:
                self.count("replayed")
            elif chosen is not None:
                self.count("one_too_many")
            else:
                chosen = found
                self.count("accepted")
        if chosen is not None:
            self._put_in_force(chosen)
        self._changes.say_held()

    def _put_in_force(self, settings: RemoteSettings) -> None:
        old, new = {**self._start, **self.values}, {**self._start, **settings.values}
        changed = [name for name in new if new[name] != old[name]]
        if "ignore_suffix" in changed or "trace_ignore_path" in changed:
            self._tracer.ignore_by(compile_ignored(new["ignore_suffix"], new["trace_ignore_path"], self._methods))
        if "sample_n_per_3_secs" in changed:
            self._tracer.sample_by(Sampler(new["sample_n_per_3_secs"]))
        self._tracer.span_limit = new["span_limit"]
        self.uuid, self.values = settings
        for name in changed:
            reason = "as the collector sets it" if name in self.values else "as at the start"
            self._changes.note(name, shown(old[name]), shown(new[name]), reason)


def shown(value: Any) -> str:
    """A setting's value, as people read it."""
    return (",".join(value) or "(none)") if isinstance(value, tuple) else str(value)  # pyright: ignore[reportUnknownArgumentType]
