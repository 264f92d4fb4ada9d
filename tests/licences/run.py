"""The licences of what swagent needs and of what it holds.

    python tests/licences/run.py             write NOTICE
    python tests/licences/run.py --check     is NOTICE right, and each dependency's licence compatible with Apache-2.0?
    python tests/licences/run.py --list      the dependencies with their licences

Exit status 1: something is wrong, each in a sentence.
"""

from __future__ import annotations

import argparse
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path

if __name__ == "__main__":  # a script finds its own folder on the path, and imports need the tests folder
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from licences import dependencies, notice


def main() -> int:
    """Check, list or write; the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("--list", action="store_true", help="the dependencies with their licences")
    options = parser.parse_args()
    if not options.check and not options.list:
        notice.write()
        return 0
    try:
        found = dependencies.licences()
    except PackageNotFoundError as error:
        print(
            f"{error.name} is not installed here, and its licence cannot be read: make check makes such an environment."
        )
        return 1
    if options.list:
        print("\n".join(f"{name}: {licence}" for name, licence in found.items()))
        return 0
    said = [*dependencies.complaints(found), *notice.complaints()]
    print("\n".join(said) or f"{len(found)} dependencies: each licence is compatible with Apache-2.0; NOTICE is right")
    return int(bool(said))


if __name__ == "__main__":
    sys.exit(main())
