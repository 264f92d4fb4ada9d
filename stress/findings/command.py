"""`python -m stress findings`: plants causes in small applications, and judges what the collector finds in them.

Exit status: 0 if nine of ten causes of the middle severity were found, and nothing in the healthy variants.
"""

from __future__ import annotations

import argparse
import asyncio

from stress.choices import some

from .cases import CASES, MIDDLE, SEVERITIES, Case
from .running import findings_of
from .verdict import Verdict, is_good, judge, sums, table

SHORT = ("database", "hidden", "queries", "stock", "calm", "one_retry")
"""The cases of the short form."""


def main(arguments: list[str]) -> int:
    """Run the cases; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m stress findings", description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("--cases", type=some(CASES), help="with commas between them (default: all)")
    add("--severities", type=some(SEVERITIES), default=[MIDDLE], help="with commas, or all three (default: middle)")
    add("--short", action="store_true", help=f"only {', '.join(SHORT)}")
    args = parser.parse_args(arguments)
    names = SHORT if args.short else args.cases or list(CASES)
    verdicts = asyncio.run(_run([CASES[name] for name in names], args.severities))
    print(f"\n{sums(verdicts)}")
    return 0 if is_good(verdicts) else 1


async def _run(cases: list[Case], severities: list[str]) -> list[Verdict]:
    verdicts: list[Verdict] = []
    for case in cases:
        for severity in severities if case.is_planted else [MIDDLE]:
            verdict = judge(case, severity, *await findings_of(case, severity))
            print(table([verdict]), flush=True)
            verdicts.append(verdict)
    return verdicts
