"""The page's files, from memory: a page asks for half a hundred of them, while reports come in.

`index.html` names the other files below a folder that is named after the content of all files. A file in this folder
never changes, so the browser keeps it: a reload makes one request, for `index.html`. When a file changes, `index.html`
names another folder. Each file also has an address without the folder, which the browser asks for each time.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import re
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".woff2": "font/woff2",
    ".ico": "image/x-icon",
    ".png": "image/png",
    ".map": "application/json",
    ".txt": "text/plain; charset=utf-8",
}
"""Types that do not depend on what the machine believes."""
_INDEX = "index.html"
# The beginning of the addresses in index.html.
_FOLDER = b'"assets/'
_ASK_AGAIN = "no-cache"
_KEEP = "public, max-age=31536000, immutable"
_VERSION_LENGTH = 16
_VERSIONED = re.compile(f"([0-9a-f]{{{_VERSION_LENGTH}}})/(.+)")
# A smaller file is no quicker when it is compressed: its headers are as long.
_WORTH_COMPRESSING = 500


class Asset(NamedTuple):
    """A file as it was read."""

    changed: int
    size: int
    content: bytes
    compressed: bytes
    """By gzip; empty where that is no gain."""
    tag: str
    kind: str


class Assets:
    """The files of one folder. They are read when they are asked for first, and again when they have changed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()
        self._kept: dict[str, Asset] = {}
        self._version = ""
        self._tags: dict[str, str] = {}
        """Of each file, when the version was read."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, as an application."""
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        await self.response(path, Headers(scope=scope))(scope, receive, send)

    def index(self, headers: Headers) -> Response:
        """The answer to a request for the page itself.

        :raises HTTPException: 404 when it is not there
        """
        self._read_version()
        found = self._asset(_INDEX)
        content = found.content.replace(_FOLDER, _FOLDER + self._version.encode() + b"/")
        return _answer(_make(found.changed, content, found.kind), headers, _ASK_AGAIN)

    def response(self, path: str, headers: Headers) -> Response:
        """The answer to a request for a path below the folder.

        :raises HTTPException: 404 when there is no such file
        """
        name = str(PurePosixPath(path)).lstrip("/")
        versioned = _VERSIONED.fullmatch(name)
        if versioned is None:
            return _answer(self._asset(name), headers, _ASK_AGAIN)
        version, name = versioned.groups()
        asset = self._asset(name)
        # a page that was loaded before the files have changed gets what is there now
        is_lasting = version == self._version and asset.tag == self._tags.get(name)
        return _answer(asset, headers, _KEEP if is_lasting else _ASK_AGAIN)

    def _read_version(self) -> None:
        names = sorted(file.relative_to(self._folder).as_posix() for file in self._folder.rglob("*") if file.is_file())
        self._tags = {name: self._asset(name).tag for name in names}
        self._version = hashlib.sha256(repr(self._tags).encode()).hexdigest()[:_VERSION_LENGTH]

    def _asset(self, name: str) -> Asset:
        file = self._folder / name
        try:
            if ".." in PurePosixPath(name).parts or "\0" in name or not file.is_file():
                raise HTTPException(404)
            found = os.stat(file)
            kept = self._kept.get(name)
            if kept is None or (kept.changed, kept.size) != (found.st_mtime_ns, found.st_size):
                kept = self._kept[name] = _make(found.st_mtime_ns, file.read_bytes(), _type_of(file))
        except (OSError, ValueError) as error:  # a name that the system does not take
            raise HTTPException(404) from error
        return kept


def _type_of(file: Path) -> str:
    return _TYPES.get(file.suffix, "application/octet-stream")


def _make(changed: int, content: bytes, kind: str) -> Asset:
    # a weak tag, since it identifies the plain bytes and the compressed ones
    tag = f'W/"{hashlib.sha256(content).hexdigest()[:32]}"'
    compressed = gzip.compress(content, 6, mtime=0) if len(content) >= _WORTH_COMPRESSING else b""
    return Asset(changed, len(content), content, compressed if len(compressed) < len(content) else b"", tag, kind)


def _answer(asset: Asset, headers: Headers, keeping: str) -> Response:
    own = {"etag": asset.tag, "cache-control": keeping, "vary": "accept-encoding"}
    if asset.tag in headers.get("if-none-match", ""):
        return Response(status_code=304, headers=own)
    if asset.compressed and _takes_gzip(headers.get("accept-encoding", "")):
        return Response(asset.compressed, media_type=asset.kind, headers={**own, "content-encoding": "gzip"})
    return Response(asset.content, media_type=asset.kind, headers=own)


def _takes_gzip(accepted: str) -> bool:
    for each in accepted.split(","):
        coding, _, quality = each.partition(";")
        if coding.strip().lower() == "gzip":
            return quality.strip().lower() not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False
