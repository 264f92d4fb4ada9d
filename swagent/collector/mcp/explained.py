"""A trace, and findings, in text; pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from .bounded import BoundedText, moment, shorten

Answer = dict[str, Any]
_ALIKE = 3  # calls that are one row
_WORTH = 0.01  # the share of the trace below which a span is left out where there is not room for all
_ALL = 60  # spans that are shown whatever they are
_MOST_LOGS = 10
_TAGS = ("db.statement", "db.query.summary", "http.status_code", "outcome", "error.kind")


def finding(number: int, each: Answer) -> list[str]:
    """A finding: its kind, its sentence, and a trace that shows it."""
    kind, sure = each["kind"].replace("_", " "), {"high": "", "medium": ", probably", "low": ", maybe"}
    frame = f" (at {each['frame']})" if each["frame"] else ""
    seen = f" [trace {each['places'][0]['trace_id']}]" if each["places"] else ""
    return [f"{number}. {kind}{sure[each['confidence']]}: {each['sentence']}{frame}{seen}"]


def trace(verdict: Answer, found: Answer) -> BoundedText:
    """A trace explained.

    :param verdict: its findings
    :param found: the trace itself
    """
    text = BoundedText()
    services, spans = ", ".join(found["services"]), found["spans"]
    text.add(
        f"Trace {found['trace_id']}, {moment(found['start'])}: {found['duration']} ms, "
        f"{len(spans) + found['left_out']:,} spans of {services}."
    )
    culprit, others = verdict["culprit"], verdict["findings"]
    if culprit is not None:
        usual = "" if culprit in others else "It took no longer than usual. "
        text.add(f"{usual}Most of its time: {culprit['sentence']}")
    rows = [row for number, each in enumerate(others, 1) for row in finding(number, each)]
    text.rows(rows, "finding", "They are on the page.", 20)
    lines = [f"{moment(each['time'])} {each['level']} {shorten(each['text'], 150)}" for each in found["logs"]]
    if lines:
        text.add("Log lines:")
        text.rows(lines, "line", "Ask logs with this trace_id.", _MOST_LOGS)
    text.add("Spans (duration, own indentation is the tree; begin after the trace's in brackets):")
    text.rows(list(_span_rows(found, verdict)), "row of spans", "Those that matter most are named above.")
    return text


def _span_rows(found: Answer, verdict: Answer) -> Iterator[str]:
    shown = _worth_showing(found, verdict)
    for _, alike in groupby(shown, key=_key):
        spans = list(alike)
        if len(spans) >= _ALIKE and not any(each["error"] for each in spans):
            took = sum(each["end"] - each["start"] for each in spans)
            yield f"{'  ' * spans[0]['depth']}{len(spans):,} calls of {_name(spans[0])}: {took} ms in all"
            continue
        for each in spans:
            failed = ", FAILED" if each["error"] else ""
            times = f"{each['end'] - each['start']} ms [{each['start'] - found['start']}]"
            yield f"{'  ' * each['depth']}{_name(each)}: {times}{failed}{_facts(each)}"
    left = len(found["spans"]) - len(shown)
    if left:
        yield f"({left:,} spans that took little of the time, and did not fail, are left out)"


def _worth_showing(found: Answer, verdict: Answer) -> Sequence[Answer]:
    """All spans, or of many those that failed, are evidence, or took long, with those around them."""
    spans: list[Answer] = found["spans"]
    if len(spans) <= _ALL:
        return spans
    culprit = [verdict["culprit"]] if verdict["culprit"] else []
    evidence = {place["span"] for each in (*culprit, *verdict["findings"]) for place in each["places"]}
    least = max(found["duration"] * _WORTH, 1)
    kept = {
        each["id"] for each in spans if each["error"] or each["id"] in evidence or each["end"] - each["start"] >= least
    }
    for each in reversed(spans):  # parents come before their children
        if each["id"] in kept and each["parent"] is not None:
            kept.add(each["parent"])
    return [each for each in spans if each["id"] in kept]


def _key(span: Answer) -> tuple[Any, ...]:
    return span["parent"], _name(span)


def _name(span: Answer) -> str:
    tags = dict(span["tags"])
    what = tags.get("db.statement") or tags.get("db.query.summary") or span["operation"]
    peer = f" → {span['peer']}" if span["peer"] else ""
    return f"{span['service']} {shorten(what, 100)}{shorten(peer, 60)}"


def _facts(span: Answer) -> str:
    tags = dict(span["tags"])
    said = [f"{key}={shorten(tags[key], 60)}" for key in _TAGS[2:] if key in tags]
    for log in span["logs"][:2]:
        fields = dict(log["fields"])
        if "error.kind" in fields:
            said.append(f"{fields['error.kind']}: {shorten(fields.get('message', ''), 100)}")
    return f" ({', '.join(said)})" if said else ""
