"""`swagent run` puts this on the path, and Python imports a module of this name when it starts. So the agent comes into
the command's own process, before its code, and into the workers that this process starts. A `sitecustomize` that stands
further down the path is still imported.

Other interpreters find this as well, be they of another environment or older than swagent can use: it is written so
that they can read it.
"""

import importlib.machinery
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
# Set by `swagent run`, and taken away by the first interpreter in which the agent is: what this one starts is the
# application's business, with or without the agent.
_EXPECTED = "SWAGENT_RUN"


def _chain() -> None:
    rest = [entry for entry in sys.path if os.path.abspath(entry or ".") != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", rest)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


def _refuse(reason: object) -> None:
    # `site` would print a traceback and go on without the agent, but the user asked for it by name
    sys.stderr.write(f"swagent run: {reason}\n")
    sys.stderr.flush()
    os._exit(2)


def _begin() -> None:
    is_expected = os.environ.pop(_EXPECTED, None) is not None
    try:
        from swagent import ConfigError
        from swagent.instrument.launch import launch
        from swagent.opentelemetry.launch import bridge
    except Exception as error:
        if is_expected:
            version = ".".join(map(str, sys.version_info[:2]))
            _refuse(
                f"the command runs {sys.executable} (Python {version}), which cannot use swagent: {error}. Install "
                "swagent into its environment, and start `swagent run` from there"
            )
        return
    try:
        bridge(launch())
    except ConfigError as error:
        _refuse(error)


_chain()
_begin()
