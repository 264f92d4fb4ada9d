"""The option table for people: as text on the terminal, and as the page `docs/options.md`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

from . import Config, options
from .options import Secret
from .without_meaning import rows as without_meaning

# a bar inside a table's cell
BAR = r"\|"

_PAGE_HEAD = """\
<!-- Written by `swagent config --markdown`; do not edit. -->
# Settings

In code, `Config(service="shop", collector="127.0.0.1:11800")`; from the environment, `Config.from_env()`, which
the middleware, `swagent.start()` and `swagent run` use as well. It reads a file of the project as well:
`swagent.toml` in the working directory or, where there is none, the table `[tool.swagent]` of `pyproject.toml`. Its
keys are the names of the column "in code", and the environment wins over it. `swagent doctor` shows where each value
comes from.

Names that the official Python agent has mean the same as there. An unknown `SW_` variable is reported by a
warning. A value that cannot be used raises `ConfigError` at the start, naming the variable or the file and its key, the
value and what is allowed.

Booleans are read in any case. The official agent knows `true` and `false` alone, and takes any other word for the
default: `SW_AGENT_FORCE_TLS=1` leaves TLS off there, and turns it on here.

| variable | in code | default | meaning | allowed |
| --- | --- | --- | --- | --- |
"""


_WITHOUT_MEANING = """
## Variables of the official agent that mean nothing here

They are no mistakes. One line of level INFO names those that are set, and `swagent doctor` shows the reasons. Any other
`SW_KAFKA_REPORTER_CONFIG_` variable fails the start where Kafka is the transport: ignored, it might leave a connection
less safe than its user believes.

| variable | why |
| --- | --- |
"""


def render_text(origins: Mapping[str, str]) -> str:
    """One paragraph an option.

    :param origins: where the options come from that are set, as `origins_of` returns them
    """
    return "\n\n".join(
        f"{env} (in code: {field})\n    {meaning}\n    default: {default}; allowed: {allowed}"
        + (f"\n    set here by {origins[field]}" if field in origins else "")
        for env, field, default, meaning, allowed in _rows()
    )


def render_markdown() -> str:
    """The page of the documentation."""
    settings = (
        f"| `{env}` | `{field}` | {f'`{default}`' if default else ''} | {meaning.replace('|', BAR)} | {allowed} |"
        for env, field, default, meaning, allowed in _rows()
    )
    others = (f"| `{name}` | {reason} |" for name, reason in without_meaning())
    return "".join([_PAGE_HEAD, *(f"{row}\n" for row in settings), _WITHOUT_MEANING, *(f"{row}\n" for row in others)])


def _rows() -> Iterator[tuple[str, str, str, str, str]]:
    defaults = {field.name: field.default for field in dataclasses.fields(Config)}
    for name, option in options():
        yield option.env, name, _as_text(defaults[name]), option.help, option.allowed


def _as_text(default: object) -> str:
    """A default as text for the environment; a value that is generated in each process has none."""
    if default is None or default is dataclasses.MISSING or isinstance(default, Secret):
        return ""
    if isinstance(default, tuple):
        return ",".join(map(str, default))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return str(default).lower() if isinstance(default, bool) else str(default)
