"""`swagent config`: the table of all settings."""

from __future__ import annotations

import argparse
import os
import sys

from ..config import origins_of
from ..config.table import render_markdown, render_text
from ..errors import ConfigError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command line."""
    parser.add_argument("--markdown", action="store_true", help="as the page of the documentation")


def run(args: argparse.Namespace) -> int:
    """Show it; returns the exit status."""
    if args.markdown:
        print(render_markdown(), end="")
        return 0
    try:
        origins = origins_of(os.environ)
    except ConfigError as error:
        print(f"swagent config: {error}", file=sys.stderr)
        return 2
    print(render_text(origins))
    return 0
