"""The interpreter ends and the agent was not left: in time, without a word, and it delivers what it can."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from faults.covering import each_cell
from faults.processes.endings import logged_as_lost
from faults.programs import run_app
from kit.sinks import sink_of

APP = Path(__file__).with_name("ending_app.py")
RECORDS = 3
# Starting up, the last flush of five seconds at most, closing hard; and the machine may have other work.
SECONDS = 20.0
# The time that the contract grants a flush where the loop has come to its end and all tasks are cancelled.
CANCELLED = 1.0
COMPLAINTS = (
    "Exception ignored", "was never awaited", "was destroyed", "never retrieved", "ResourceWarning", "Unhandled",
    "internal error",
)  # fmt: skip
# code, records that arrive, tracebacks (the application's own)
ENDINGS: dict[str, tuple[int, int, int]] = {
    "exit_inside": (3, 2 * RECORDS, 0),
    "error_inside": (1, 2 * RECORDS, 1),
    "os_exit_inside": (3, RECORDS, 0),
    "forget": (0, 2 * RECORDS, 0),
    "forget_thread": (0, RECORDS, 0),
    "exit_beside_thread": (3, RECORDS, 0),
}
ON_ASYNCIO = {**ENDINGS, "close_loop": (0, RECORDS, 0)}


@pytest.mark.slow
@pytest.mark.timeout(300)
@each_cell("P06", backend_name="backend")
def test_a_program_that_ends_without_leaving_its_agent(transport: str, backend: str, tmp_path: Path) -> None:
    endings = ENDINGS if backend == "trio" else ON_ASYNCIO
    with sink_of(transport) as sink:
        table, _ = run_app(APP, backend, str(tmp_path), *endings, environ=sink.environ, options=("-X", "dev"))
        arrived = {ending: sink.instances[row["instance"]] for ending, row in table.items()}
    for ending, (code, records, tracebacks) in endings.items():
        row = table[ending]
        said = (tmp_path / ending).read_text()
        print(ending, row, said)
        assert row["code"] == code, ending
        assert row["seconds"] < SECONDS, ending
        late = lost_in_time(said, row["gone_at"]) if ending == "forget" else Counter[str]()
        assert late.keys() <= {"ambiguous", "shutdown"}, said
        assert late.total() <= RECORDS, said
        assert records - late.total() <= arrived[ending] <= records - late["shutdown"], ending
        assert said.count("Traceback") == tracebacks, said
        # a loop that the application closes under open connections says so itself, on uvloop and in development mode
        allowed = {"ResourceWarning"} if ending == "close_loop" else set()
        assert not [each for each in COMPLAINTS if each in said and each not in allowed], said
    assert max(sink.ids.values()) == 1


def lost_in_time(said: str, gone_at: float) -> Counter[str]:
    """The losses, by reason, if the program took as long as it may have for the last flush: no connection outlives
    the loop's end, and a busy machine may need all that time for another one."""
    over = re.search(r"over at (\S+)", said)
    assert over is not None, said
    return logged_as_lost(said) if gone_at - float(over[1]) >= CANCELLED else Counter()
