"""`python -m swagent.collector`."""

from __future__ import annotations

import argparse
import sys

from .command import add_arguments, run


def main() -> int:
    """Parse the command line and run the collector; returns the exit status."""
    parser = argparse.ArgumentParser(prog="swagent collector", description="a SkyWalking collector")
    add_arguments(parser)
    return run(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
