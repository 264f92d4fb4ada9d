"""The libraries of the collector's page: from the npm registry at fixed versions, kept in the tree as they are built.

    python tests/page/vendored.py            fetch what the manifest names (needs npm), verify it, write the tree
    python tests/page/vendored.py --check    is what the tree holds what the manifest says? (needs no network)

To move to another version, change it in the manifest: `npm view NAME@VERSION dist.integrity` prints the integrity.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

TREE = Path(__file__).parents[2] / "swagent" / "collector" / "page" / "vendor"
MANIFEST = TREE / "manifest.json"


def main() -> int:
    """Fetch or check; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare the tree with its manifest, offline")
    libraries = json.loads(MANIFEST.read_text())
    if parser.parse_args().check:
        complaints = check(libraries)
        print("\n".join(complaints) or f"{TREE.name}: as the manifest says")
        return 1 if complaints else 0
    for name, library in libraries.items():
        for file, content in _fetch(name, library).items():
            (TREE / file).write_bytes(content)
            library["files"][file]["sha256"] = _digest(content)
    MANIFEST.write_text(json.dumps(libraries, indent=2) + "\n")
    return 0


def check(libraries: dict[str, Any]) -> list[str]:
    """The differences between the tree and its manifest; one line each."""
    expected = {name: file["sha256"] for library in libraries.values() for name, file in library["files"].items()}
    actual = {each.name: _digest(each.read_bytes()) for each in sorted(TREE.iterdir()) if each != MANIFEST}
    return [
        f"{name}: {actual.get(name, 'missing')}, the manifest says {expected.get(name, 'nothing')}"
        for name in sorted(expected.keys() | actual.keys())
        if expected.get(name) != actual.get(name)
    ]


def _fetch(name: str, library: dict[str, Any]) -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        package = f"{name}@{library['version']}"
        subprocess.run(["npm", "pack", "--silent", package], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        (archive,) = Path(folder).glob("*.tgz")
        integrity = "sha512-" + base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
        if integrity != library["integrity"]:
            sys.exit(f"{package}: integrity {integrity}, expected {library['integrity']}: not written")
        with tarfile.open(archive) as tar:
            return {file: _adapt(_read(tar, f"package/{each['from']}")) for file, each in library["files"].items()}


def _read(tar: tarfile.TarFile, path: str) -> bytes:
    member = tar.extractfile(path)
    if member is None:
        sys.exit(f"{path} is no file in its package")
    return member.read()


def _adapt(content: bytes) -> bytes:
    """A browser knows bare names by an import map only, which the page's policy forbids. Source maps stay behind."""
    lines = content.replace(b'from"preact"', b'from"./preact.js"').splitlines(keepends=True)
    return b"".join(line for line in lines if not line.startswith(b"//# sourceMappingURL="))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


if __name__ == "__main__":
    sys.exit(main())
