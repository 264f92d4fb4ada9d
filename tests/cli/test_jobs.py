"""Jobs in other processes under `swagent run`: they belong to their caller's trace, what they record arrives, and the
application sees of them what it sees without the agent."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from swagent.collector.server import Collector
from swagent.collector.store.records import Event

from .test_workers import environment

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")

HERE = Path(__file__).parent
RUN = [sys.executable, "-m", "swagent", "run", "--"]
PATIENCE = 120.0
# An interpreter for each child takes its time.
SLOW = [pytest.mark.slow]
WAYS = ["fork", pytest.param("spawn", marks=SLOW), pytest.param("forkserver", marks=SLOW)]
APIS = ["pool", "executor", "process"]

JOINED = """
import multiprocessing, os, sys, swagent
from concurrent.futures import ProcessPoolExecutor

def work(number):
    with swagent.local_span(f"inside {number}"):
        return number

def main(way, api):
    context = multiprocessing.get_context(way)
    # as a part of no trace
    if api == "pool":
        with context.Pool(4) as pool:
            with swagent.entry_span("request"):
                assert pool.map(work, range(4), chunksize=1) == [0, 1, 2, 3]
    elif api == "executor":
        with ProcessPoolExecutor(2, context) as pool, swagent.entry_span("request"):
            assert list(pool.map(work, range(4))) == [0, 1, 2, 3]
    else:
        with swagent.entry_span("request"):
            children = [context.Process(target=work, args=(number,)) for number in range(4)]
            for child in children:
                child.start()
        for child in children:
            child.join()
        assert [child.exitcode for child in children] == [0] * 4

if __name__ == "__main__":
    main(*sys.argv[1:])
"""

# Workers of a pool that only this supervises: three wait when a signal ends them, and one has a job.
ENDED = """
import multiprocessing, multiprocessing.pool, os, signal, sys, time, swagent

def work(path):
    with swagent.local_span("inside"):
        return os.getpid()

def wait(path):
    with swagent.local_span("cut off"):
        open(path, "w").close()
        signal.pause()

def begin(context, function):
    # kept: a child opens by their names what its queues are made of
    tasks, results = queues[len(queues):] = context.SimpleQueue(), context.SimpleQueue()
    child = context.Process(target=multiprocessing.pool.worker, args=(tasks, results))
    child.start()
    tasks.put((0, 0, function, ("at work",), {}))
    return child, results

def end(child):
    child.terminate()
    child.join()
    assert child.exitcode == -signal.SIGTERM, child

if __name__ == "__main__":
    queues = []
    context = multiprocessing.get_context(sys.argv[1])
    for _ in range(3):
        child, results = begin(context, work)
        assert results.get() == (0, 0, (True, child.pid))
        end(child)
    child, _ = begin(context, wait)
    while not os.path.exists("at work"):
        assert child.is_alive()
        time.sleep(0.01)
    end(child)
"""

# The child finds neither the agent nor its modules.
BARE = """
import multiprocessing, os, sys
from concurrent.futures import ProcessPoolExecutor

def look(number):
    try:
        import swagent
    except ImportError:
        return number, "swagent" in sys.modules
    raise AssertionError("it is there")

def named(*, number):
    return look(number)

def main(way, folder):
    import swagent
    os.environ["PYTHONPATH"] = folder
    context = multiprocessing.get_context(way)
    with swagent.entry_span("request"):
        with context.Pool(2) as pool:
            expected = [(0, False), (1, False)]
            assert pool.map(look, range(2)) == expected
            assert list(pool.imap(look, range(2))) == expected
            assert pool.apply(look, (1,)) == expected[1]
            assert pool.apply(named, (), {"number": 1}) == expected[1]
        with ProcessPoolExecutor(1, context) as pool:
            assert list(pool.map(look, range(2))) == expected
        child = context.Process(target=look, args=(1,))
        child.start()
        child.join()
        assert child.exitcode == 0

if __name__ == "__main__":
    main(*sys.argv[1:])
"""
BLOCKER = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "swagent":
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Blocker())
"""

# The parent's agent does not follow its children.
ALONE = """
import multiprocessing, swagent
from concurrent.futures import ProcessPoolExecutor
from swagent.instrument import instrument

def work(number):
    with swagent.local_span("inside"):
        return number, swagent.current_trace_id()

if __name__ == "__main__":
    instrument()
    swagent.start()
    for way in ("fork", "spawn"):
        context = multiprocessing.get_context(way)
        with swagent.entry_span("request"):
            with context.Pool(2) as pool:
                assert pool.map(work, range(2)) == [(0, ""), (1, "")]
            with ProcessPoolExecutor(1, context) as pool:
                assert list(pool.map(work, range(2))) == [(0, ""), (1, "")]
            child = context.Process(target=work, args=(1,))
            child.start()
            child.join()
            assert child.exitcode == 0
    swagent.stop()
"""


def run(command: list[str], collector: Collector, folder: Path) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command, env=environment(collector), cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    print(done.stdout, done.stderr)
    return done


def run_script(script: str, collector: Collector, folder: Path, *arguments: str, by: list[str] = RUN) -> None:
    path = folder / "jobs.py"
    path.write_text(script)
    done = run([*by, sys.executable, str(path), *arguments], collector, folder)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("way", WAYS)
def test_jobs_belong_to_their_callers_trace_and_all_arrive(
    collector: Collector, tmp_path: Path, way: str, api: str
) -> None:
    run_script(JOINED, collector, tmp_path, way, api)
    segments = collector.store.segments
    (request,) = [each for each in segments if each.spans[-1].operation == "request"]
    jobs = [each for each in segments if each is not request]
    assert len(jobs) == 4
    for job in jobs:
        inside, work = job.spans
        assert (work.operation, work.kind, inside.parent_span_id) == ("work", "Local", work.span_id)
        (reference,) = work.references
        assert (reference.kind, reference.segment_id, reference.span_id) == ("CrossProcess", request.segment_id, 0)
        assert (job.trace_id, reference.instance) == (request.trace_id, request.instance)
    assert Counter(job.spans[0].operation for job in jobs) == {f"inside {number}": 1 for number in range(4)}
    assert request.instance not in {job.instance for job in jobs}


@pytest.mark.parametrize("way", WAYS)
def test_a_worker_that_waits_flushes_when_a_signal_ends_it(collector: Collector, tmp_path: Path, way: str) -> None:
    run_script(ENDED, collector, tmp_path, way)
    operations = Counter(span.operation for each in collector.store.segments for span in each.spans)
    assert operations == {"inside": 3}
    # what a job has recorded when it is cut off is lost, and an instance without its end says so
    events = Counter(each.name for each in collector.store.records(Event))
    assert events["Shutdown"] == 3, "the script itself has recorded nothing"


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("way", WAYS)
def test_the_application_sees_what_it_sees_without_the_agent(
    collector: Collector, tmp_path: Path, way: str, api: str
) -> None:
    command = [sys.executable, str(HERE / "job_app.py"), way, api]
    bare, traced = (run([*by, *command], collector, tmp_path) for by in ([], RUN))
    assert bare.returncode == 0
    assert bare.stdout.count("\n") > 10
    assert outcome(traced) == outcome(bare)


def outcome(done: subprocess.CompletedProcess[str]) -> tuple[Any, ...]:
    return done.returncode, done.stdout.splitlines(), done.stderr.splitlines()


@pytest.mark.parametrize("way", [pytest.param("spawn"), pytest.param("forkserver", marks=SLOW)])
def test_jobs_run_in_children_that_cannot_import_the_agent(collector: Collector, tmp_path: Path, way: str) -> None:
    bare = tmp_path / "bare"
    bare.mkdir()
    (bare / "sitecustomize.py").write_text(BLOCKER)
    run_script(BARE, collector, tmp_path, way, str(bare))


def test_jobs_run_in_children_that_have_no_agent(collector: Collector, tmp_path: Path) -> None:
    run_script(ALONE, collector, tmp_path, by=[])
