"""The files that a comparison leaves in its folder: the tables, the raw rounds, the plots."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from ..environments import SetupError
from ..machine import describe_machine
from .environments import Environment, prepare
from .figures import Figures, Key
from .mode_table import render_modes
from .plot_data import collect_plots
from .run import Comparison
from .tables import (
    render_costs,
    render_efficiency,
    render_failures,
    render_latency,
    render_remarks,
    render_throughput,
)
from .verdict import find_doubts

_METHOD = """\
Application on core 0; load, collectors and broker on core 1. A fresh process for each visit, the contestants by turns,
{rounds} rounds; {seconds:g} s for each phase after {warm_up:g} s of warm-up. Medians, in brackets least and most.
Saturation is a closed loop of 32 connections (`wrk -t1 -c32`). At fixed rates, which are shares of the bare
application's saturation, latency counts from the moment that a request was due; a request without an answer at the end
counts as waiting until then. "x" is against the bare application of the same round. Delivered is counted at the
collector or broker after SIGTERM and the process's end; a rate whose records were not delivered is void. Of
OpenTelemetry the segments are spans. uvicorn ends itself by the signal that it was sent, so exit handlers of the
interpreter do not run, here as elsewhere.
"""


def write_report(
    folder: Path, comparison: Comparison, figures: Mapping[Key, Figures], violations: Sequence[str]
) -> str:
    """Write the tables and the raw rounds; returns the tables."""
    raw = {
        "machine": describe_machine(),
        "plan": {**asdict(comparison.plan), "contestants": [each.name for each in comparison.plan.contestants]},
        "violations": list(violations),
        "failures": [asdict(each) for each in comparison.failures],
        "rounds": [asdict(each) for each in comparison.measurements],
    }
    (folder / "rounds.json").write_text(json.dumps(raw, indent=1))
    text = _render(comparison, figures, violations)
    (folder / "tables.md").write_text(text + "\n")
    return text


def draw(folder: Path, figures: Mapping[Key, Figures]) -> None:
    """Write the plots, in an environment of their own; says why not where that cannot be had."""
    (folder / "plots.json").write_text(json.dumps(collect_plots(figures)))
    try:
        python = prepare(Environment.PLOTS)
    except SetupError as error:
        print(f"no plots: {error}", flush=True)
        return
    command = [str(python), str(Path(__file__).with_name("plots.py")), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"no plots: {done.stderr}", flush=True)


def describe_run(folder: Path, violations: Sequence[str]) -> list[str]:
    """The last lines for the person who started the run."""
    verdict = [f"FAILED: {each}" for each in violations] or ["passed: nothing of ours lost, nothing below its record"]
    return ["", f"written to {folder}", *verdict]


def _render(comparison: Comparison, figures: Mapping[Key, Figures], violations: Sequence[str]) -> str:
    plan = comparison.plan
    doubts = [f"- **Doubtful:** {each}" for each in find_doubts(comparison.measurements)]
    failed = [f"- **Failed:** {each}" for each in violations]
    parts = [
        _METHOD.format(rounds=plan.rounds, seconds=plan.seconds, warm_up=plan.warm_up).strip(),
        describe_machine(),
        "\n".join([*failed, *doubts]),
        render_throughput(figures),
        render_efficiency(figures),
        render_latency(figures),
        render_costs(figures),
        render_modes(figures),
        render_failures(comparison.failures),
        render_remarks(figures),
    ]
    return "\n\n".join(part for part in parts if part)
