"""Nothing in the distribution turns data into code, or takes what the application seeds or may hold."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

import swagent
import swagent_proto
import swagent_transports

_ROOTS = [Path(root.__file__ or "").parent for root in (swagent, swagent_proto, swagent_transports)]
_SOURCES = sorted(path for root in _ROOTS for path in root.rglob("*.py"))
_CALLS = frozenset({"eval", "exec", "__import__", "literal_eval"})
_LOADERS = frozenset({
    "load", "import_module", "exec_module", "load_module", "run_module", "run_path", "execv", "execve", "execvpe",
})  # fmt: skip
_OS_CALLS = frozenset({"system", "popen", "spawnl", "spawnv", "spawnve", "posix_spawn"})
_MODULES = frozenset({
    "pickle", "_pickle", "cPickle", "dill", "marshal", "shelve", "code", "codeop", "yaml", "ctypes", "subprocess",
})  # fmt: skip
# The calls that load code by names in our own sources, in an installed distribution's metadata, or in the user's
# command line: entry points, optional libraries, the site's next `sitecustomize`, `swagent run`, and the programs that
# the application starts.
_LOADS: dict[str, set[str]] = {
    "transport_choice.py": {"load"},
    "agent_thread.py": {"import_module"},
    "installation.py": {"load"},
    "instrumentors.py": {"load"},
    "loop_view.py": {"import_module"},
    "command.py": {"import_module"},
    "files.py": {"import_module"},
    "endpoint.py": {"import_module"},
    "import_hook.py": {"exec_module"},
    "next_program.py": {"execv"},
    "sitecustomize.py": {"exec_module", "load_module"},
    "run.py": {"execvpe"},
}
# A timer of the kernel's, by the two names that the source has, where Python is too old to have them.
_MODULES_OF = {"kernel_timer.py": {"ctypes"}}


def _forbidden(tree: ast.AST, file: str) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from _modules((each.name for each in node.names), file)
        elif isinstance(node, ast.ImportFrom):
            yield from _modules([node.module or ""], file)
        elif isinstance(node, ast.Name) and node.id in _CALLS | {"compile"}:
            yield node.id
        elif isinstance(node, ast.Attribute) and _is_forbidden(node, file):
            yield node.attr


def _modules(names: Iterable[str], file: str) -> Iterator[str]:
    yield from (name for name in names if name.partition(".")[0] in _MODULES - _MODULES_OF.get(file, set()))


def _is_forbidden(node: ast.Attribute, file: str) -> bool:
    is_os = isinstance(node.value, ast.Name) and node.value.id == "os"
    return node.attr in (_CALLS | _LOADERS) - _LOADS.get(file, set()) or (is_os and node.attr in _OS_CALLS)


def test_the_sources_are_found() -> None:
    assert len(_SOURCES) > 100
    assert {"agent.py", "wire.py", "kafka.py"} <= {path.name for path in _SOURCES}


# Of these modules, what is the application's: the one generator that `random.seed` sets, and the sequence of `uuid1`.
# A plain lock cannot be entered again by its own thread, in which a finaliser or a signal handler may record.
_TAKEN: dict[str, set[str] | None] = {
    "random": {"Random", "SystemRandom"},
    "uuid": {"UUID", "uuid4", "uuid5"},
    "threading": None,
}
_PLAIN_LOCK = "Lock"
# It passes numbers on to the application's generator, for the application.
_PASSES_ON = {"_quiet.py"}


def _shared(tree: ast.AST) -> Iterator[str]:
    nodes = [*ast.walk(tree)]
    modules = {each.name for node in nodes if isinstance(node, ast.Import) for each in node.names}
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            found = [(node.value.id, node.attr)]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found = [(str(node.module), each.name) for each in node.names]
        else:
            continue
        yield from (f"{module}.{name}" for module, name in found if _is_shared(module, name))


def _is_shared(module: str, name: str) -> bool:
    allowed = _TAKEN.get(module, {name})
    return name == _PLAIN_LOCK if allowed is None else name not in allowed


_OURS = [each for each in _SOURCES if "collector" not in each.parts and each.name not in _PASSES_ON]


@pytest.mark.parametrize("path", _OURS, ids=lambda path: str(path.relative_to(path.parents[2])))
def test_nothing_is_shared_with_the_application(path: Path) -> None:
    assert not list(_shared(ast.parse(path.read_text("utf-8"))))


@pytest.mark.parametrize("path", _SOURCES, ids=lambda path: str(path.relative_to(path.parents[2])))
def test_nothing_turns_data_into_code(path: Path) -> None:
    assert not list(_forbidden(ast.parse(path.read_text("utf-8")), path.name))


@pytest.mark.parametrize(
    "source",
    ["eval(x)", "exec(x)", "import pickle", "from pickle import loads", "import xml, marshal", "__import__(x)",
     "ast.literal_eval(x)", "f = eval", "os.system(x)", "importlib.import_module(x)", "builtins.exec(x)"],
)  # fmt: skip
def test_it_would_be_found(source: str) -> None:
    assert list(_forbidden(ast.parse(source), "some.py"))


@pytest.mark.parametrize(
    "source",
    ["import random; random.choice(x)", "from random import randrange", "import uuid; uuid.uuid1()",
     "import threading; threading.Lock()", "from threading import Lock"],
)  # fmt: skip
def test_what_is_shared_would_be_found(source: str) -> None:
    assert list(_shared(ast.parse(source)))
