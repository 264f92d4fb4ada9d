"""Two processes that run the same programs, one of them under `swagent run`."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from typing_extensions import Self

from differential.program import Program, World

_TESTS = Path(__file__).parents[1]
PATIENCE = 40.0
"""Seconds for a program: some libraries try again for a while, and the machine may be busy."""
_MORE = 5.0
"""Seconds left for the second side, when the first has had its time."""
_START = 120.0
_END = 30.0
_SETTINGS = {"SW_AGENT_NAME": "differential", "SW_AGENT_TIME_SPLIT_EVERY": "1"}
_PYTHON = {"PYTHONPATH": f"{_TESTS}{os.pathsep}{_TESTS.parent}", "PYTHONHASHSEED": "0"}
# The more is shown, the more is looked at: every other pair has these.
_ALL_SHOWN = {
    "SW_PLUGIN_SQL_STATEMENTS": "true",
    "SW_PLUGIN_SQL_PARAMETERS_MAX_LENGTH": "100",
    "SW_PLUGIN_CACHE_KEYS": "true",
    "SW_PLUGIN_PYMONGO_TRACE_PARAMETERS": "true",
    "SW_PLUGIN_ELASTICSEARCH_TRACE_DSL": "true",
    "SW_PLUGIN_CELERY_PARAMETERS_LENGTH": "100",
    "SW_PLUGIN_FLASK_COLLECT_HTTP_PARAMS": "true",
    "SW_PLUGIN_SANIC_COLLECT_HTTP_PARAMS": "true",
    "SW_PLUGIN_DJANGO_COLLECT_HTTP_PARAMS": "true",
    "SW_PLUGIN_FASTAPI_COLLECT_HTTP_PARAMS": "true",
    "SW_PLUGIN_BOTTLE_COLLECT_HTTP_PARAMS": "true",
}


class Side:
    """One process. It is started anew after it was lost."""

    def __init__(self, command: list[str], environment: Mapping[str, str], first: dict[str, Any]) -> None:
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115  (until the side ends)
        programs, self._programs = os.pipe()
        self._answers, answers = os.pipe()
        self._buffer = b""
        self.hangs = False
        arguments = [*command, sys.executable, "-m", "differential.worker", str(programs), str(answers)]
        self._folder = tempfile.TemporaryDirectory(prefix="differential-")
        self._process = subprocess.Popen(
            arguments, env={**os.environ, **environment, **_PYTHON},
            pass_fds=(programs, answers), stdin=subprocess.DEVNULL, stdout=self._errors, stderr=self._errors,
            cwd=self._folder.name,
        )  # fmt: skip
        os.close(programs)
        os.close(answers)
        self._send(first)

    def send(self, program: Program) -> None:
        """Have it run this. The answer comes with `receive`."""
        self._send(asdict(program))

    def receive(self, patience: float) -> Any:
        """The side's observation of the program; or how it ended instead."""
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([self._answers], [], [], patience)
            if not ready:
                self._process.kill()
                self._process.wait()
                self.hangs = True
                return {"hangs": True}
            data = os.read(self._answers, 1 << 16)
            if not data:
                return {"ends": self._process.wait(_END), "says": self.said()}
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        return json.loads(line)

    def close(self) -> dict[str, Any]:
        """Let it end, and see how."""
        os.close(self._programs)
        try:
            status = self._process.wait(_END)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait()
        os.close(self._answers)
        self._folder.cleanup()
        said = self.said()
        self._errors.close()
        return {"status": status, "says": said}

    def said(self) -> str:
        self._errors.seek(0)
        return self._errors.read()[-2000:]

    def _send(self, document: dict[str, Any]) -> None:
        # `receive` says how it ended
        with suppress(BrokenPipeError):
            os.write(self._programs, json.dumps(document).encode() + b"\n")


def _of_side(variables: Mapping[str, str], side: str) -> dict[str, str]:
    """`URL@ns0` is the `URL` of one side alone, and `ns#` in a value is the side's name."""
    own = {name: value for name, value in variables.items() if "@" not in name or name.endswith(side)}
    return {name.partition("@")[0]: value.replace("ns#", side) for name, value in own.items()}


class Pair:
    """Both sides, for one world.

    :param instance: the agent's name at the collector
    :param shows_all: whether the agent shows statements, keys and parameters
    """

    def __init__(self, world: World, variables: Mapping[str, str], instance: str, *, shows_all: bool) -> None:
        first = {"setup": world.source, "loops": list(world.loops), "settles": not world.leaves}
        names = {side: _of_side(variables, side) for side in ("ns0", "ns1")}
        swagent = [str(Path(sys.executable).parent / "swagent"), "run", "--"]
        settings = {
            **_SETTINGS, **(_ALL_SHOWN if shows_all else {}), "SW_AGENT_INSTANCE_NAME": instance,
            "SW_AGENT_COLLECTOR_BACKEND_SERVICES": variables["COLLECTOR"],
        }  # fmt: skip
        self._bare = Side([], {}, {**first, "variables": {**names["ns0"], "NS": "ns0"}})
        self._agent = Side(swagent, settings, {**first, "variables": {**names["ns1"], "NS": "ns1"}})
        self._is_first = True
        self._ends: tuple[dict[str, Any], dict[str, Any]] | None = None
        self.is_lost = False

    def run(self, program: Program) -> tuple[Any, Any]:
        """Each side's observation of the program. Afterwards the pair may be lost."""
        self._bare.send(program)
        self._agent.send(program)
        patience = PATIENCE + (_START if self._is_first else 0)
        self._is_first = False
        seen = self._bare.receive(patience), self._agent.receive(_MORE if self._bare.hangs else patience)
        self.is_lost = any("lines" not in each for each in seen)
        return seen

    def close(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """End both, and see how they ended. A second call says the same."""
        if self._ends is None:
            # the agent delivers meanwhile
            self._ends = self._bare.close(), self._agent.close()
        return self._ends

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
