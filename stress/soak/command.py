"""`python -m stress soak`: arguments in; the plan, the table and the violations out."""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from random import SystemRandom

from stress.choices import some

from .cells import BACKENDS, TRANSPORTS, choose_cells
from .plan import WARM_UP, draw_plan
from .report import as_document, render, render_plan
from .run import soak
from .verdict import judge


def main(arguments: list[str]) -> int:
    """Run it.

    :returns: 0 when nothing was violated
    """
    given = _parse(arguments)
    seed = given.seed if given.seed is not None else SystemRandom().randrange(1_000_000)
    seconds = given.minutes * 60
    plan = draw_plan(seed, max(1, int(seconds / given.fault_every)), given.fault_every)
    print(render_plan(seed, plan), flush=True)
    cells = choose_cells(given.transports, given.backends)
    with tempfile.TemporaryDirectory(prefix="soak-") as temporary:
        folder = Path(given.keep or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        evidence = asyncio.run(
            soak(cells, plan, WARM_UP + seconds, given.rate, folder, has_everything=given.everything)
        )
    violations = [violation for each in evidence for violation in judge(each)]
    print(render(evidence, violations), flush=True)
    if given.json:
        document = as_document(seed, plan, evidence, violations)
        given.json.write_text(json.dumps(document, indent=1))
    return 1 if violations else 0


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m stress soak", description="Random faults under load.")
    parser.add_argument("--minutes", type=float, default=5.0, help="of faults (%(default)g)")
    parser.add_argument("--fault-every", type=float, default=30.0, metavar="SECONDS", help="(%(default)g)")
    parser.add_argument("--seed", type=int, help="of the faults; drawn and printed when left out")
    parser.add_argument("--rate", type=float, default=20.0, help="requests per second and application (%(default)g)")
    parser.add_argument("--transports", type=some(TRANSPORTS), default=TRANSPORTS, help=",".join(TRANSPORTS))
    parser.add_argument("--backends", type=some(BACKENDS), default=BACKENDS, help=",".join(BACKENDS))
    parser.add_argument("--everything", action="store_true",
                        help="each request calls a dozen libraries, with real servers; some are profiled")  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the verdict there")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep what the processes wrote, in a new folder")
    return parser.parse_args(arguments)
