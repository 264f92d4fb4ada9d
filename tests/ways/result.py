"""The last run of each row, in `result.json`: the versions, and the verdict and its date."""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ways.judging import Judged

RESULT = Path(__file__).parent / "result.json"


def keep_result(judged: Sequence[Judged], names: Sequence[str], path: Path = RESULT) -> None:
    """Keep the verdicts of a run in the place of older ones on the same rows.

    :param names: those of all rows of the table, in its order; verdicts on others are dropped
    """
    today = datetime.now(timezone.utc).date().isoformat()
    kept = {each["name"]: each for each in read_result(path)["ways"]} if path.exists() else {}
    kept |= {each.name: {"date": today, **each.as_json()} for each in judged}
    run = {
        "swagent": version("swagent"),
        "python": platform.python_version(),
        "system": platform.system(),
        "ways": [kept[name] for name in names if name in kept],
    }
    path.write_text(json.dumps(run, indent=1, ensure_ascii=False) + "\n")


def read_result(path: Path = RESULT) -> dict[str, Any]:
    """The last run of each row."""
    found: dict[str, Any] = json.loads(path.read_text())
    return found
