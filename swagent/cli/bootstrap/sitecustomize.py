"""`swagent run` puts this on the path, and Python imports a module of this name when it starts. So the agent starts in
the command's own process, before its code, and in the workers that this process forks. A `sitecustomize` that stands
further down the path is still imported.
"""

import importlib.machinery
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _chain() -> None:
    rest = [entry for entry in sys.path if os.path.abspath(entry or ".") != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", rest)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


_chain()

import swagent  # noqa: E402  (the site's own customisation comes first)
from swagent.runtime.agent_thread import start_at_first_record  # noqa: E402

# What multiprocessing runs beside the application: a process that forks the workers, and one that records nothing.
_FORK_SERVER = "from multiprocessing.forkserver import main"
_RESOURCE_TRACKER = "from multiprocessing.resource_tracker import main"

_program = " ".join(sys.orig_argv)
try:
    if _FORK_SERVER in _program:
        start_at_first_record()
    elif _RESOURCE_TRACKER not in _program:
        swagent.start(follow_forks=True)
except swagent.ConfigError as error:
    # `site` would print a traceback and go on without the agent, but the user asked for it by name
    sys.stderr.write(f"swagent run: {error}\n")
    os._exit(2)
