"""The page's files, from memory: a page asks for half a hundred of them at once, while reports come in."""

from __future__ import annotations

import hashlib
import os
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


class Asset(NamedTuple):
    """A file as it was read."""

    changed: int
    size: int
    content: bytes
    tag: str
    kind: str


class Assets:
    """The files of one folder. They are read when they are asked for first, and again when they have changed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()
        self._kept: dict[str, Asset] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, as an application."""
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        await self.response(path, Headers(scope=scope))(scope, receive, send)

    def response(self, path: str, headers: Headers) -> Response:
        """The answer to a request for a path below the folder.

        :raises HTTPException: 404 when there is no such file
        """
        asset = self._asset(path)
        own = {"etag": asset.tag, "cache-control": "no-cache"}
        if asset.tag in headers.get("if-none-match", ""):
            return Response(status_code=304, headers=own)
        return Response(asset.content, media_type=asset.kind, headers=own)

    def _asset(self, path: str) -> Asset:
        name = str(PurePosixPath(path)).lstrip("/")
        file = self._folder / name
        try:
            if ".." in PurePosixPath(name).parts or "\0" in name or not file.is_file():
                raise HTTPException(404)
            found = os.stat(file)
            kept = self._kept.get(name)
            if kept is None or (kept.changed, kept.size) != (found.st_mtime_ns, found.st_size):
                kept = self._kept[name] = _read(file, found)
        except (OSError, ValueError) as error:  # a name that the system does not take
            raise HTTPException(404) from error
        return kept


def _read(file: Path, found: os.stat_result) -> Asset:
    content = file.read_bytes()
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    kind = _TYPES.get(file.suffix, "application/octet-stream")
    return Asset(found.st_mtime_ns, found.st_size, content, tag, kind)
