"""Starting a JVM, or another program, that cannot outlive us, whatever ends this process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# "Kill me when my parent dies" means the parent *thread*, so one thread that lasts as long as the interpreter
# starts every server: a worker thread that happens to call restart() may end long before the server should.
_starter = ThreadPoolExecutor(max_workers=1, thread_name_prefix="java-starter")

# The order to the kernel survives exec. An interpreter of its own gives it, because a fork of a process with
# threads may not run Python code safely; one whose parent is gone already must not start at all.
_DIE_WITH_PARENT = """
import ctypes, os, signal, sys
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
if os.getppid() == int(sys.argv[1]):
    os.execv(sys.argv[2], sys.argv[2:])
"""
_GUARD = (sys.executable, "-I", "-S", "-c", _DIE_WITH_PARENT)

# Short lives: the quick compiler, no helper threads, no files outside `home`. Query times mean UTC.
_OPTIONS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-Duser.timezone=UTC")


def start_java(
    command: Sequence[str], *, home: Path, log: Path, environment: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    """Run `java ARGUMENTS...` in `home`, its output appended to `log`."""
    java, *arguments = command
    options = [*_OPTIONS, f"-Djava.io.tmpdir={home}"]
    return start_program([java, *options, *arguments], home=home, log=log, environment=environment)


def start_program(
    command: Sequence[str], *, home: Path, log: Path, environment: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    """Run a program that does not fork, as `start_java`."""
    guarded = [*_GUARD, str(os.getpid()), *command]
    return _starter.submit(_popen, guarded, home, log, {**os.environ, **environment}).result()


def _popen(command: Sequence[str], home: Path, log: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    with log.open("ab") as out:
        return subprocess.Popen(
            command,
            cwd=home,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C in the terminal is for us; we end the server in order
        )
