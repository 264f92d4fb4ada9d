"""Delivers one segment with nothing but the installed wheel, and prints its ledger: the setting is in the environment.

python deliver.py
"""

from __future__ import annotations

import swagent


def main() -> None:
    """Record a trace in the agent thread, and stop."""
    swagent.start()
    with swagent.entry_span("GET:/wheel"), swagent.local_span("inside"):
        pass
    statistics = swagent.stop()
    assert statistics is not None
    print(statistics.segment)


if __name__ == "__main__":
    main()
