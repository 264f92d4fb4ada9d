"""`swagent run` puts this on the path, and Python imports a module of this name when it starts. So the agent comes into
the command's own process, before its code, and into the workers that this process starts. A `sitecustomize` that is
further down the path is still imported.

The folder that `make inject` builds has it, too, beside swagent itself. There `PYTHONPATH` alone brings the agent.

Other interpreters find this as well, be they of another environment or older than swagent can use: it is written so
that Python 2.7 can read it, and there it does nothing but import that other one.
"""

# pyright: reportTypeCommentUsage=false, reportPossiblyUnboundVariable=false

import os
import sys

try:
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec
except ImportError:  # Python 2
    import imp

    PathFinder = None  # type: ignore

_HERE = os.path.dirname(os.path.abspath(__file__))
# Set by `swagent run`, to the number of the process that became the command, and taken away by the first interpreter in
# which the agent is: programs that this one starts are the application's, with or without the agent.
_EXPECTED = "SWAGENT_RUN"
# Another `sitecustomize` may import the next one on the path by itself, and so this one again, while or after this one
# imports it: `sys` keeps what was imported by then.
_STATE = "_swagent_sitecustomize"
# Whether this is the one in the folder for injection.
_IS_BESIDE_SWAGENT = os.path.isdir(os.path.join(_HERE, "swagent"))


def _chain(done):
    # type: (set[str]) -> None
    here = [at for at, entry in enumerate(sys.path) if os.path.abspath(entry or ".") == _HERE]
    # a sitecustomize before this one was imported first, and imports this one
    for entry in sys.path[here[0] + 1 if here else 0 :]:
        where = os.path.abspath(entry or ".")
        if where != _HERE and where not in done and _import_from(entry, where, done):
            return


def _import_from(entry, where, done):
    # type: (str, str, set[str]) -> bool
    if PathFinder is None:
        return _import_in_python_2(entry, where, done)
    spec = PathFinder.find_spec("sitecustomize", [entry])
    if spec is None or spec.loader is None:
        return False
    done.add(where)
    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)
    return True


def _import_in_python_2(entry, where, done):
    # type: (str, str, set[str]) -> bool
    try:
        found = imp.find_module("sitecustomize", [entry])
    except ImportError:
        return False
    done.add(where)
    try:
        imp.load_module("sitecustomize", *found)  # type: ignore
    finally:
        found[0].close()
    return True


def _report(reason, is_command, name="swagent run"):
    # type: (object, bool, str) -> None
    # `site` would print a traceback and go on without the agent, but the user asked for it by name
    sys.stderr.write("{}: {}\n".format(name, reason))
    sys.stderr.flush()
    # a step of a script is to run, and the steps behind it
    if is_command:
        os._exit(2)


def _begin():
    # type: () -> None
    expected = os.environ.pop(_EXPECTED, None)
    is_expected = expected is not None
    is_command = expected == str(os.getpid())
    is_injected = _IS_BESIDE_SWAGENT and not is_expected
    before = set(sys.modules)
    try:
        from swagent.errors import ConfigError
        from swagent.launch import launch
    except Exception as error:
        if is_expected:
            version = ".".join(map(str, sys.version_info[:2]))
            text = "the command runs {} (Python {}), which cannot use swagent: {}. ".format(
                sys.executable, version, error
            )
            way_out = "Install swagent into its environment, and start `swagent run` from there"
            _report(text + (way_out if is_command else "This process runs without the agent"), is_command)
        elif is_injected and PathFinder is not None:
            _report("this process runs without the agent: {}".format(error), False, "swagent")
        return
    try:
        launch(before, _HERE, is_first=is_expected, is_injected=is_injected)
    except ConfigError as error:
        if is_injected:
            # the application is to start, whatever its settings of ours are
            _report("this process runs without the agent: {}".format(error), False, "swagent")
        else:
            _report(error, is_command)


def _is_sub_interpreter():
    # type: () -> bool
    # A thread of the agent would keep a sub-interpreter from ending, and nobody would stop its agent. Signal 0 does not
    # exist, and the error message says whether this is the main interpreter. This needs no slow import.
    try:
        from _signal import signal  # type: ignore

        signal(0, None)
    except ImportError:
        return False
    except (ValueError, TypeError) as error:
        return "main interpreter" in str(error)
    return False


_is_first = not hasattr(sys, _STATE)
_state = sys.__dict__.setdefault(_STATE, set())
_chain(_state)
if _is_first and not _is_sub_interpreter():
    # not before the others are through: ddtrace's takes modules away again that were imported meanwhile
    _begin()
