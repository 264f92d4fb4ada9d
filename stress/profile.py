"""`python -m stress profile`: where an application under load spends its time, as a flame graph.

The same application, load and cores as `stress compare`; looked at from outside by py-spy, so that looking costs the
application nothing.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path

from .compare.contestants import CONTESTANTS, HANDLERS, Contestant
from .compare.environments import prepare
from .compare.serving import LOAD_CORE, serve
from .compare.sinks import Sinks
from .compare.wrk import WrkError, find_wrk, saturate
from .environments import CACHE, python_with

_WARM_UP = 2.0
_LOOKS_A_SECOND = 500


def main(arguments: list[str]) -> int:
    """Run it.

    :returns: 0; 2 when it cannot run here
    """
    parser = argparse.ArgumentParser(prog="python -m stress profile", description="A flame graph under saturation.")
    parser.add_argument("--contestant", choices=CONTESTANTS, default="swagent-grpc")
    parser.add_argument("--handler", choices=HANDLERS, default="trivial")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--out", type=Path, metavar="FOLDER", default=CACHE / "profile")
    given = parser.parse_args(arguments)
    try:
        find_wrk()
        os.sched_setaffinity(0, {LOAD_CORE})
    except (WrkError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    given.out.mkdir(parents=True, exist_ok=True)
    found = _profile(CONTESTANTS[given.contestant], given.handler, given.seconds, given.out)
    print(f"written to {found}")
    return 0


def _profile(contestant: Contestant, handler: str, seconds: float, folder: Path) -> Path:
    spy = python_with("profile", ["py-spy>=0.4"]).with_name("py-spy")
    graph = folder / f"{contestant.name}-{handler}.svg"
    with ExitStack() as stack:
        sinks = Sinks(stack)
        sink = sinks.find(contestant.sink)
        environ = {**contestant.settings(sink.address), "COMPARED_UPSTREAM": sinks.upstream}
        application = serve(contestant, prepare(contestant.environment), environ, graph.with_suffix(".log"), stack)
        url = f"http://127.0.0.1:{application.port}/{handler}"
        saturate(url, _WARM_UP)
        load = threading.Thread(target=saturate, args=[url, seconds])
        load.start()
        command = [str(spy), "record", "--rate", str(_LOOKS_A_SECOND), "--duration", str(max(1, int(seconds) - 1)),
                   "--output", str(graph), "--pid", str(application.pid)]  # fmt: skip
        # py-spy says on its way what its files say
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        load.join()
    return graph
