"""The workflows are YAML that says what it should: commands that there are, few rights, and uploads of tags alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from .project import ROOT

yaml = pytest.importorskip("yaml", reason="is among the tools of developers")

FOLDER = ROOT / ".github" / "workflows"
# The hosts that a workflow may name: none, since actions and the index are known by their names.
HOST = re.compile(r"https?://|\b\d{1,3}(?:\.\d{1,3}){3}\b|index-url|extra-index|PIP_INDEX|find-links")


def workflows() -> dict[str, dict[Any, Any]]:
    """Each workflow by its file's name; YAML 1.1 reads the key `on` as True."""
    return {path.stem: yaml.safe_load(path.read_text("utf-8")) for path in sorted(FOLDER.glob("*.yml"))}


def steps(workflow: dict[Any, Any]) -> Iterator[dict[str, Any]]:
    for job in workflow["jobs"].values():
        yield from job.get("steps", [])


def commands(workflow: dict[Any, Any]) -> Iterator[str]:
    for step in steps(workflow):
        yield from str(step.get("run", "")).splitlines()


def test_there_are_workflows_for_tests_wheels_and_a_release() -> None:
    assert set(workflows()) == {"tests", "nightly", "wheels", "release"}


def test_each_command_of_the_project_is_there() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z][\w-]*):", makefile, re.MULTILINE))
    every = [command for workflow in workflows().values() for command in commands(workflow)]
    named = {command.split()[1] for command in every if command.startswith("make ")}
    assert {"test", "check", "nightly", "wheels", "release"} <= named
    assert named <= targets
    scripts = {command.split()[0] for command in every if command.startswith((".ci/", "./"))}
    assert scripts == {".ci/run", ".ci/machine"}
    assert all((ROOT / each).stat().st_mode & 0o111 for each in scripts)


def test_each_workflow_that_is_called_is_there() -> None:
    called = [job["uses"] for each in workflows().values() for job in each["jobs"].values() if "uses" in job]
    assert called == ["./.github/workflows/wheels.yml"]
    assert all((ROOT / each).is_file() for each in called)
    assert "workflow_call" in workflows()["wheels"][True]


def test_only_a_tag_is_published_and_by_no_token() -> None:
    with_rights = {
        (name, job_name)
        for name, workflow in workflows().items()
        for job_name, job in workflow["jobs"].items()
        if "permissions" in job
    }
    assert with_rights == {("release", "publish")}
    assert all(each["permissions"] == {"contents": "read"} for each in workflows().values())
    release = workflows()["release"]
    assert release[True] == {"push": {"tags": ["v*"]}}
    publish = release["jobs"]["publish"]
    assert publish["if"] == "github.ref_type == 'tag'"
    assert publish["permissions"]["id-token"] == "write"
    assert set(publish["needs"]) == {"wheels", "archives"}
    assert "secrets." not in "".join(path.read_text("utf-8") for path in FOLDER.iterdir())


def test_no_workflow_names_a_host() -> None:
    named = {path.name: HOST.findall(path.read_text("utf-8")) for path in FOLDER.iterdir()}
    assert {name for name, hosts in named.items() if hosts} == set()


def test_each_job_has_a_limit_and_each_action_a_version() -> None:
    for name, workflow in workflows().items():
        for job_name, job in workflow["jobs"].items():
            assert "uses" in job or job["timeout-minutes"] <= 360, (name, job_name)
        for step in steps(workflow):
            assert "uses" not in step or re.fullmatch(r"[\w-]+/[\w-]+@[\w./]+", step["uses"]), step
