"""The tools: a question each, answered in text."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

from . import explained
from .asking import Answer, Ask, AskingError
from .bounded import BoundedText, moment, shorten

Arguments = Mapping[str, Any]
Schema = dict[str, Any]
_ROWS = 60
_MOST_MINUTES = 10**9


class Tool(NamedTuple):
    """One tool.

    :ivar parameters: JSON schemas by name; those in `needed` have to be given
    """

    name: str
    description: str
    parameters: Schema
    answer: Callable[[Ask, Arguments], Awaitable[BoundedText]]
    needed: tuple[str, ...] = ()

    @property
    def schema(self) -> Schema:
        """The schema of its arguments."""
        return {
            "type": "object",
            "properties": self.parameters,
            "required": list(self.needed),
            "additionalProperties": False,
        }


async def answer_of(ask: Ask, name: str, arguments: Arguments) -> str:
    """The answer of a tool.

    :raises AskingError: there is no such tool, an argument is wrong, or there is no answer
    """
    tool = next((each for each in TOOLS if each.name == name), None)
    if tool is None:
        raise AskingError(f"there is no tool {shorten(name, 60)!r}: take {', '.join(each.name for each in TOOLS)}")
    for key, value in arguments.items():
        _check(tool, key, value)
    missing = [key for key in tool.needed if key not in arguments]
    if missing:
        raise AskingError(f"{missing[0]}: is missing")
    return str(await tool.answer(ask, arguments))


def _check(tool: Tool, key: str, value: object) -> None:
    schema = tool.parameters.get(key)
    if schema is None:
        raise AskingError(f"{tool.name} takes {', '.join(tool.parameters) or 'nothing'}, not {shorten(key, 60)!r}")
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not (is_number if schema["type"] == "number" else isinstance(value, str)):
        raise AskingError(f"{key}: takes a {'number' if schema['type'] == 'number' else 'text'}")
    # JSON has numbers that no time has
    if is_number and not 0 <= value <= _MOST_MINUTES:  # type: ignore[operator]
        raise AskingError(f"{key}: takes a number from 0 to {_MOST_MINUTES:,}")
    if "enum" in schema and value not in schema["enum"]:
        raise AskingError(f"{key}: takes {' or '.join(schema['enum'])}")


def _since(arguments: Arguments) -> int | None:
    minutes = arguments.get("minutes")
    return None if minutes is None else int((time.time() - float(minutes) * 60) * 1000)


def _ago(arguments: Arguments, name: str) -> int | None:
    """The moment so many minutes ago, in milliseconds since the epoch."""
    return None if name not in arguments else int((time.time() - float(arguments[name]) * 60) * 1000)


async def _findings(ask: Ask, given: Arguments) -> BoundedText:
    # once and now: a page may be content with what was found some seconds ago
    found = await ask("/api/findings", from_=_since(given), at=_ago(given, "worse_since_minutes"), fresh=1)
    text = BoundedText()
    text.add(f"{len(found['findings'])} findings in {found['requests']:,} requests, those first that explain most.")
    rows = [row for number, each in enumerate(found["findings"], 1) for row in explained.finding(number, each)]
    text.rows(rows, "line", "Narrow it by minutes.")
    return text


async def _traces(ask: Ask, given: Arguments) -> BoundedText:
    found = await ask(
        "/api/traces", q=given.get("query"), service=given.get("service"), from_=_since(given),
        sort=given.get("sort", "newest"), limit=_ROWS,
    )  # fmt: skip
    text = BoundedText()
    text.add(f"{found['total']:,} traces match, {given.get('sort', 'newest')} first: id, start, duration, request.")
    text.rows(list(map(_trace_row, found["traces"])), "trace", "Narrow the query.")
    return text


def _trace_row(trace: Answer) -> str:
    outcome = "failed" if trace["failed"] else "went on"
    failed = f", {outcome} with {trace['errors']} failed spans" if trace["errors"] else ""
    others = ", ".join(name for name in trace["services"] if name != trace["service"])
    through = f", through {others}" if others else ""
    request = f"{trace['service']} {shorten(trace['endpoint'], 80)}"
    return (
        f"{trace['trace_id']} {moment(trace['start'])} {trace['duration']} ms {request}: "
        f"{trace['spans']} spans{failed}{through}"
    )


async def _trace(ask: Ask, given: Arguments) -> BoundedText:
    parts = {"trace": given["trace_id"]}
    verdict = await ask("/api/traces/{trace:path}/findings", parts)
    return explained.trace(verdict, await ask("/api/traces/{trace:path}", parts))


async def _compare(ask: Ask, given: Arguments) -> BoundedText:
    at = _ago(given, "minutes_ago")
    found = await ask("/api/compare", at=at, service=given.get("service"))
    text = BoundedText()
    text.add(f"Before and after {moment(at)}, the worst change first; only what is marked differs beyond chance.")
    rows = [_change_row(each) for each in found["endpoints"]]
    text.rows(rows, "endpoint", "Narrow it to a service.")
    return text


def _change_row(change: Answer) -> str:
    before, after = change["before"], change["after"]
    parts = [
        f"{name} {_known(before, name)} → {_known(after, name)}{' (differs)' if change['differs'].get(name) else ''}"
        for name in ("p50", "p95", "error_rate", "queries")
        if before.get(name) is not None or after.get(name) is not None
    ]
    calls = f"calls {before['calls']:,} → {after['calls']:,}"
    return f"{change['service']} {shorten(change['endpoint'], 80)}: {', '.join([calls, *parts])}"


def _known(side: Answer, name: str) -> str:
    return "unknown" if side.get(name) is None else str(side[name])


async def _errors(ask: Ask, given: Arguments) -> BoundedText:
    found = await ask("/api/errors", service=given.get("service"), q=given.get("text"), from_=_since(given))
    text = BoundedText()
    text.add(f"{found['failures']:,} failures in {found['total']:,} groups, the latest first.")
    text.rows(list(map(_error_row, found["groups"])), "group", "Narrow it by service, text or minutes.", _ROWS)
    return text


def _error_row(group: Answer) -> str:
    kind = group["kind"] or f"status {group['status']}".strip()
    where = f" at {group['file']}:{group['line']} {group['function']}" if group["file"] else ""
    services = ", ".join(group["services"])
    return (
        f"{group['count']:,} times {kind}{where} in {shorten(group['operation'], 80)} of {services}, "
        f"last {moment(group['last'])}: {shorten(group['message'], 120)}"
    )


async def _logs(ask: Ask, given: Arguments) -> BoundedText:
    found = await ask(
        "/api/logs", service=given.get("service"), level=given.get("level"), q=given.get("text"),
        trace_id=given.get("trace_id"), from_=_since(given), limit=100,
    )  # fmt: skip
    text = BoundedText()
    text.add(f"{found['total']:,} log lines match, the newest first.")
    rows = [
        f"{moment(each['time'])} {each['level']} {each['service']} {each['logger']}: {shorten(each['text'], 200)}"
        + (f" (trace {each['trace_id']})" if each["trace_id"] and "trace_id" not in given else "")
        for each in found["logs"]
    ]
    text.rows(rows, "line of the newest", "Narrow it by service, level, text, trace or minutes.")
    return text


async def _services(ask: Ask, given: Arguments) -> BoundedText:
    text, service = BoundedText(), given.get("service")
    if service:
        found = await ask("/api/services/{service:path}/endpoints", {"service": service}, from_=_since(given))
        text.add(f"The endpoints of {service}:")
        text.rows([_calls_row(each) for each in found["endpoints"]], "endpoint", "Narrow it by minutes.")
        return text
    found = await ask("/api/services", from_=_since(given))
    text.add(f"{len(found['services'])} services:")
    rows = [f"{_calls_row(each)}, last seen {moment(each['last_seen'])}" for each in found["services"]]
    text.rows(rows, "service", "Name a service to see its endpoints.")
    return text


def _calls_row(each: Answer) -> str:
    name = shorten(each["name"], 100)
    if not each["calls"]:
        return f"{name}: no calls"
    through = f" and {each['through']:,} because of a service that was called" if each["through"] else ""
    return (
        f"{name}: {each['calls']:,} calls, {each['errors']:,} failed{through}, p50 {each['p50']} ms, "
        f"p95 {each['p95']} ms, {each['total']:,} ms in all"
    )


async def _profile(ask: Ask, given: Arguments) -> BoundedText:
    text = BoundedText()
    if "task_id" not in given:
        found = await ask("/api/profiles")
        text.add(f"{len(found['tasks'])} profiles, made by `swagent profile` or the page, the newest first:")
        rows = [
            f"{each['id']} {each['service']} {shorten(each['endpoint'], 80)}: {each['state']}, "
            f"{len(each['segments'])} requests"
            for each in found["tasks"]
        ]
        text.rows(rows, "profile", "The newest come first.")
        return text
    found = await ask("/api/profiles/{task:path}", {"task": given["task_id"]})
    text.add("Functions by their own time, in all stacks:")
    by_name: dict[str, float] = {}
    for node in found["nodes"]:
        name = f"{node['name']} [{node['state']}]" if node["state"] else node["name"]
        by_name[name] = by_name.get(name, 0) + node["self_ms"]
    rows = [
        f"{ms:,.0f} ms {shorten(name, 160)}" for name, ms in sorted(by_name.items(), key=lambda each: -each[1]) if ms
    ]
    text.rows(rows, "function", "The page has the flame graph.", _ROWS)
    return text


def _text(description: str, **more: Any) -> Schema:
    return {"type": "string", "description": description, **more}


def _number(description: str) -> Schema:
    return {"type": "number", "description": description, "minimum": 0, "maximum": _MOST_MINUTES}


_MINUTES = _number("only the last so many minutes")
_SERVICE = _text("only this service")
TOOLS = (
    Tool(
        "findings",
        "What is amiss in the traced services now: slow dependencies, N+1 queries, held event loops, errors, "
        "regressions, each in a sentence with its evidence. Start here.",
        {
            "minutes": _MINUTES,
            "worse_since_minutes": _number("look for what got worse since a moment so many minutes ago"),
        },
        _findings,
    ),
    Tool(
        "traces",
        "A list of traces. The query has terms such as status>=500, dur>1s, tenant=globex, endpoint:/orders, "
        "error:PaymentFailed, peer:db, or a text.",
        {
            "query": _text("terms, all of which must hold"), "service": _SERVICE, "minutes": _MINUTES,
            "sort": _text("the order", enum=["newest", "slowest"]),
        },
        _traces,
    ),
    Tool(
        "trace", "One trace explained: its culprit, what else is amiss, and its tree of spans.",
        {"trace_id": _text("its id")}, _trace, ("trace_id",),
    ),
    Tool(
        "compare", "Each endpoint before and after a moment, such as a deployment: p50, p95, errors, queries.",
        {"minutes_ago": _number("the moment, so many minutes ago"), "service": _SERVICE}, _compare, ("minutes_ago",),
    ),
    Tool(
        "errors", "Groups of failures, each counted where it began, with its place in the code.",
        {"service": _SERVICE, "text": _text("in the kind or the message"), "minutes": _MINUTES}, _errors,
    ),
    Tool(
        "logs", "Log lines, the newest first.",
        {
            "service": _SERVICE, "level": _text("such as WARNING or ERROR"), "text": _text("in the line"),
            "trace_id": _text("of this trace"), "minutes": _MINUTES,
        },
        _logs,
    ),
    Tool(
        "services", "The services, or the endpoints of one: calls, failures, p50, p95.",
        {"service": _text("list the endpoints of this one"), "minutes": _MINUTES}, _services,
    ),
    Tool(
        "profile", "The profiles that were taken, or the functions that one of them spent its time in.",
        {"task_id": _text("of the profile to show")}, _profile,
    ),
)  # fmt: skip
"""All of them."""
