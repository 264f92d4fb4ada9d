"""`swagent ask`: what is amiss, asked of a running `swagent collector`.

Exit status: 0 it was answered, whatever the answer is, 1 it was not, 2 the command line is wrong.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import textwrap
import time
from datetime import datetime

from .collector_page import Answer, CollectorError, CollectorPage

PAGE = "http://127.0.0.1:12880"
_UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400}
_LENGTH = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|min|h|d)")
_WIDTH = 100
_INDENT = " " * 4


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command line."""
    add = parser.add_argument
    add("about", nargs="*", metavar="trace ID", help="ask about one trace; without it, about all that is kept")
    add("--since", type=_length, metavar="TIME", help="only what began within the last 5m, 30s, 2h")
    add("--at", type=_moment, metavar="TIME",
        help="a moment since which something may be worse: 14:05, 2026-11-24T14:05, or 5m for so long ago")  # fmt: skip
    add("--json", action="store_true", help="print the answer as it came")
    add("--collector", default=PAGE, metavar="URL", help="of the collector's page (default: %(default)s)")


def run(args: argparse.Namespace) -> int:
    """Ask, and print the answer; returns the exit status."""
    trace = _trace(args.about)
    if trace is None:
        print("swagent ask: takes nothing, or `trace ID`, such as: swagent ask trace 906c22c1b88b266d", file=sys.stderr)
        return 2
    try:
        page = CollectorPage(args.collector)
        found = page.get("traces", trace, "findings") if trace else page.get("findings", query=_query(args))
        text = json.dumps(found, indent=2, ensure_ascii=False) if args.json else _text(found, page.url)
    except CollectorError as error:
        print(f"swagent ask: {error}", file=sys.stderr)
        return 1
    print(text)
    return 0


def _trace(about: list[str]) -> str | None:
    """The trace that is asked about; empty: none; None where the words mean nothing."""
    if not about:
        return ""
    return about[1] if len(about) == 2 and about[0] == "trace" and about[1] else None


def _query(args: argparse.Namespace) -> dict[str, int]:
    # a page may be content with what was found some seconds ago
    query = {"fresh": 1}
    if args.since is not None:
        query["from"] = int((time.time() - args.since) * 1000)
    if args.at is not None:
        query["at"] = int(args.at * 1000)
    return query


def _text(found: Answer, url: str) -> str:
    if "trace_id" in found:
        return _of_trace(found, url)
    findings, requests = found["findings"], f"{found['requests']:,} request{'s' * (found['requests'] != 1)}"
    if not findings:
        return f"Nothing is amiss in {requests}." if found["requests"] else "No request has been recorded in this time."
    head = f"{len(findings)} finding{'s' * (len(findings) != 1)} in {requests}, those first that explain most:"
    return "\n".join((head, *(_row(number, each, url) for number, each in enumerate(findings, 1))))


def _of_trace(found: Answer, url: str) -> str:
    culprit, findings = found["culprit"], found["findings"]
    lines: list[str] = []
    if culprit is None:
        lines.append("It took less than a millisecond.")
    elif culprit not in findings:
        lines.append(f"Nothing took longer than usual. Most of its time: {culprit['sentence']}")
    lines += [_row(number, each, url) for number, each in enumerate(findings, 1)]
    if not findings:
        lines.append("Nothing else is amiss.")
    return "\n".join(lines)


def _row(number: int, finding: Answer, url: str) -> str:
    kind = str(finding["kind"]).replace("_", " ").replace("n plus one", "N+1")
    sure = {"high": "", "medium": ", probably", "low": ", maybe"}[finding["confidence"]]
    sentence = textwrap.fill(
        finding["sentence"], _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip
    return f"\n{number:>2}. {kind}{sure}\n{sentence}\n{_INDENT}{url}/{finding['link']}"


def _length(text: str) -> float:
    """Seconds in a text such as `5m`."""
    found = _LENGTH.fullmatch(text.strip())
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no time such as 30s, 5m, 2h or 1d")
    return float(found[1]) * _UNITS[found[2]]


def _moment(text: str) -> float:
    """Seconds since the epoch of a text such as `14:05`, the last one that there was."""
    if _LENGTH.fullmatch(text.strip()):
        return time.time() - _length(text)
    now = datetime.now().astimezone()
    for form in ("%H:%M", "%H:%M:%S"):
        try:
            clock = datetime.strptime(text, form)  # noqa: DTZ007  (only its clock is taken)
        except ValueError:
            continue
        moment = now.replace(hour=clock.hour, minute=clock.minute, second=clock.second, microsecond=0)
        return moment.timestamp() - (86_400 if moment > now else 0)
    try:
        return datetime.fromisoformat(text).astimezone().timestamp()
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no time such as 14:05, 2026-11-24T14:05 or 5m") from None
