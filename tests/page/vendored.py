"""The libraries of the collector's page: from the npm registry at fixed versions, kept in the tree as they are built.

    python tests/page/vendored.py            fetch them anew (needs npm), verify them, write the tree and its manifest
    python tests/page/vendored.py --check    is what the tree holds what the manifest says? (needs no network)

To move to another version, change `LIBRARIES`: `npm view NAME@VERSION dist.integrity` prints the integrity.
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
from dataclasses import dataclass
from pathlib import Path

TREE = Path(__file__).parents[2] / "swagent" / "collector" / "page" / "vendor"
MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Library:
    """One package of the registry, and which of its files the page loads under which names."""

    name: str
    version: str
    licence: str
    integrity: str
    files: tuple[tuple[str, str], ...]


LIBRARIES = (
    Library(
        "preact",
        "11.2.0",
        "MIT",
        "sha512-/HfHI/7N84e6GrWBJ3J280z3mLaRJiDcSvj/A+y/4AbLnND/1UlGHe1sR6oYuTGwId0nP7dqDU9OnLxMPZ7xBg==",
        (
            ("dist/preact.mjs", "preact.js"),
            ("hooks/dist/hooks.mjs", "preact-hooks.js"),
            ("LICENSE", "preact.LICENSE"),
        ),
    ),
    Library(
        "htm",
        "3.1.1",
        "Apache-2.0",
        "sha512-983Vyg8NwUE7JkZ6NmOqpCZ+sh1bKv2iYTlUkzlWmA5JD2acKoxd4KVxbMmxX/85mtfdnDmTFoNKcg5DGAvxNQ==",
        (("dist/htm.mjs", "htm.js"), ("LICENSE", "htm.LICENSE")),
    ),
    Library(
        "uplot",
        "1.6.32",
        "MIT",
        "sha512-KIMVnG68zvu5XXUbC4LQEPnhwOxBuLyW1AHtpm6IKTXImkbLgkMy+jabjLgSLMasNuGGzQm/ep3tOkyTxpiQIw==",
        (("dist/uPlot.esm.js", "uplot.js"), ("dist/uPlot.min.css", "uplot.css"), ("LICENSE", "uplot.LICENSE")),
    ),
    Library(
        "@dagrejs/dagre",
        "3.1.3",
        "MIT",
        "sha512-X4aUTwOReZvthaZWOVHqlJ52/ZdhZFEM4+Lh/uR4XooUSLE6p71bcy7MPGzYnNUcNh+nj+i/qJQpCMIdQnSmrg==",
        (("dist/dagre.esm.js", "dagre.js"), ("LICENSE", "dagre.LICENSE")),
    ),
    Library(  # built into dagre.js
        "@dagrejs/graphlib",
        "4.0.6",
        "MIT",
        "sha512-Hjv7hbfmSBMP4nVXMFt4gusqWWHghQF0qNT4V5KHo4Jatvd+2L5VHKFnnIjXVuDnaHIRz7ZuHSnlf0RuZkOwWA==",
        (("LICENSE", "graphlib.LICENSE"),),
    ),
)


def main() -> int:
    """Fetch or check; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare the tree with its manifest, offline")
    if parser.parse_args().check:
        complaints = check(TREE)
        print("\n".join(complaints) or f"{TREE.name}: as the manifest says")
        return 1 if complaints else 0
    TREE.mkdir(exist_ok=True)
    files = {name: content for library in LIBRARIES for name, content in _fetch(library).items()}
    for name, content in files.items():
        (TREE / name).write_bytes(content)
    (TREE / MANIFEST).write_text(json.dumps(_manifest(files), indent=2) + "\n")
    return 0


def check(tree: Path) -> list[str]:
    """The differences between the tree, its manifest and `LIBRARIES`; one line each."""
    files = {each.name: each.read_bytes() for each in sorted(tree.iterdir()) if each.name != MANIFEST}
    found = json.loads((tree / MANIFEST).read_text())
    complaints = []
    for library in LIBRARIES:
        entry = found.get(library.name, {})
        pinned = {"version": library.version, "licence": library.licence, "integrity": library.integrity}
        complaints += [
            f"{library.name}: the manifest says {what} {entry.get(what)}, the script {value}"
            for what, value in pinned.items()
            if entry.get(what) != value
        ]
    expected = {name: digest for entry in found.values() for name, digest in entry["sha256"].items()}
    actual = {name: _digest(content) for name, content in files.items()}
    for name in sorted(expected.keys() | actual.keys()):
        if expected.get(name) != actual.get(name):
            complaints.append(
                f"{name}: {actual.get(name, 'missing')}, the manifest says {expected.get(name, 'nothing')}"
            )
    return complaints


def _manifest(files: dict[str, bytes]) -> dict[str, object]:
    return {
        library.name: {
            "version": library.version,
            "licence": library.licence,
            "integrity": library.integrity,
            "sha256": {name: _digest(files[name]) for _, name in library.files},
        }
        for library in LIBRARIES
    }


def _fetch(library: Library) -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        package = f"{library.name}@{library.version}"
        subprocess.run(["npm", "pack", "--silent", package], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        (archive,) = Path(folder).glob("*.tgz")
        integrity = "sha512-" + base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
        if integrity != library.integrity:
            sys.exit(f"{package}: integrity {integrity}, expected {library.integrity}: not written")
        with tarfile.open(archive) as tar:
            return {name: _adapt(_read(tar, f"package/{path}")) for path, name in library.files}


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
