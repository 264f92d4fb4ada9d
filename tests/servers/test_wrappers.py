"""Programs that put a folder of their own on the path of a command, in front of the agent's: both load."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from servers.serving import TESTS, entries, environment, served, wait_for
from swagent.collector.server import Collector

# The use that a wrapper's `sitecustomize` makes of the next one on the path: none, as opentelemetry-instrument's; or it
# imports it, as ddtrace-run's; or it looks for it by itself, as newrelic-admin's.
HIDES = "print('wrapper', flush=True)"
IMPORTS = f"""
{HIDES}
import os, sys
here = os.path.dirname(__file__)
at = sys.path.index(here)
del sys.path[at]
own = sys.modules.pop("sitecustomize")
try:
    import sitecustomize
except ImportError:
    sys.modules["sitecustomize"] = own
finally:
    sys.path.insert(at, here)
"""
FINDS = f"""
{HIDES}
import os, sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
rest = [each for each in sys.path if each != os.path.dirname(__file__)]
spec = PathFinder.find_spec("sitecustomize", rest)
if spec is not None:
    spec.loader.exec_module(module_from_spec(spec))
"""
WRAPPER = """
import os, subprocess, sys
folder, way, *command = sys.argv[1:]
def path(): return os.pathsep.join([folder, os.environ["PYTHONPATH"]])
if way == "becomes":
    os.environ["PYTHONPATH"] = path()
    os.execv(command[0], command)
elif way == "becomes, by a copy":
    os.execve(command[0], command, {**os.environ, "PYTHONPATH": path()})
elif way == "starts":
    os.environ["PYTHONPATH"] = path()
    sys.exit(subprocess.run(command).returncode)
else:
    sys.exit(subprocess.Popen(command, env={**os.environ, "PYTHONPATH": path()}).wait())
"""
WAYS = ["becomes", "becomes, by a copy", "starts", "starts, by a copy"]
JOB = """
import swagent
with swagent.entry_span("job"):
    print("job")
"""


def run(collector: Collector, tmp_path: Path, site: str, way: str, **environ: str) -> str:
    folder = tmp_path / "wrapper"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(site)
    wrapper, job = tmp_path / "wrap.py", tmp_path / "job.py"
    wrapper.write_text(WRAPPER)
    job.write_text(JOB)
    command = [sys.executable, str(wrapper), str(folder), way, sys.executable, str(job)]
    done = subprocess.run(
        [sys.executable, "-m", "swagent", "run", "--", *command],
        env={**environment(collector), **environ}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("site", "way"),
    [*((HIDES, way) for way in WAYS), (IMPORTS, "becomes"), (FINDS, "becomes")],
    ids=[*WAYS, "imports the next one", "finds the next one"],
)
def test_the_wrapper_and_the_agent_both_load(collector: Collector, tmp_path: Path, site: str, way: str) -> None:
    assert run(collector, tmp_path, site, way).split() == ["wrapper", "job"]
    assert [span.operation for each in collector.store.segments for span in each.spans] == ["job"]


@pytest.mark.parametrize("site", [IMPORTS, FINDS], ids=["imports", "finds"])
def test_so_does_a_sitecustomize_further_down_if_the_wrapper_loads_it(
    collector: Collector, tmp_path: Path, site: str
) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "sitecustomize.py").write_text("print('mine', flush=True)")
    said = run(collector, tmp_path, site, "becomes", PYTHONPATH=str(mine)).split()
    # in the process of `swagent run`, in the wrapper's and in the job's
    assert said == ["mine", "mine", "wrapper", "mine", "job"]
    assert len(collector.store.segments) == 1


@pytest.mark.slow
def test_opentelemetrys_wrapper_around_a_server(collector: Collector) -> None:
    script = Path(sys.executable).with_name("opentelemetry-instrument")
    if not script.exists():
        pytest.skip("opentelemetry-instrumentation is not installed")
    command = [str(script), sys.executable, "-m", "uvicorn", "--port", "{port}", "servers.applications:asgi"]
    with served(collector, command, PYTHONPATH=os.pathsep.join([str(TESTS)])) as server:
        server.ask()
        wait_for(lambda: len(entries(collector)) == 1)
    (segment,) = entries(collector)
    assert segment.spans[0].operation.startswith("GET:/items/")


def test_the_agent_s_own_import_is_over_before_instrumentations_of_others_are_loaded(
    collector: Collector, tmp_path: Path
) -> None:
    """Any distribution may bring one, and then the first import of the application's loads them all."""
    others = tmp_path / "others"
    metadata = others / "another-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: another\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[opentelemetry_instrumentor]\n")
    path = os.pathsep.join(filter(None, [str(others), environment(collector).get("PYTHONPATH")]))
    assert run(collector, tmp_path, "", "becomes", PYTHONPATH=path) == "job\n"
    assert [each.spans[0].operation for each in collector.store.segments] == ["job"]
