"""The page's files, from memory: a page asks for half a hundred of them, while reports come in.

`index.html` names the other files below a folder that is named after the content of all files. A file in this folder
never changes, so the browser keeps it: a reload makes one request, for `index.html`. When a file changes, `index.html`
names another folder. Each file also has an address without the folder, which the browser asks for each time.

A browser has six connections for all that, and asks for style sheets and modules before the first answer of the API. So
the style sheets are sent as one, and modules give way.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

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
_STYLE = re.compile(rb'<link rel="stylesheet" href="assets/([^"]+)">\s*')
_STYLES = "styles.css"
"""The name of all style sheets in one, in their order."""
_ONE_STYLE = b'<link rel="stylesheet" href="assets/styles.css">\n    '
_PRELOADED = b'<link rel="modulepreload" '
_GIVES_WAY = b'fetchpriority="low" '
_ASK_AGAIN = "no-cache"
_KEEP = "public, max-age=31536000, immutable"
_VERSION_LENGTH = 16
_VERSIONED = re.compile(f"([0-9a-f]{{{_VERSION_LENGTH}}})/(.+)")
# A smaller file is no quicker when it is compressed: its headers are as long.
_WORTH_COMPRESSING = 500


@dataclass(frozen=True)
class Asset:
    """A file as it was read."""

    changed: int
    size: int
    content: bytes
    tag: str
    kind: str

    @cached_property
    def compressed(self) -> bytes:
        """By gzip; empty where that is no gain. Not before it is asked for: the first page need not wait for all."""
        found = gzip.compress(self.content, 6, mtime=0) if self.size >= _WORTH_COMPRESSING else b""
        return found if len(found) < self.size else b""


class Assets:
    """The files of one folder. They are read when they are asked for first, and again when they have changed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()
        self._kept: dict[str, Asset] = {}
        self._version = ""
        self._tags: dict[str, str] = {}
        """Of each file, and of all style sheets, when the version was read."""
        self._styles: Asset | None = None

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
        content = found.content.replace(_PRELOADED, _PRELOADED + _GIVES_WAY)
        if self._styles is not None:
            first, *others = _STYLE.split(content)[::2]
            content = first + _ONE_STYLE + b"".join(others)
        content = content.replace(_FOLDER, _FOLDER + self._version.encode() + b"/")
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
        self._styles = self._all_styles()
        if self._styles is not None:
            self._tags[_STYLES] = self._styles.tag
        self._version = hashlib.sha256(repr(self._tags).encode()).hexdigest()[:_VERSION_LENGTH]

    def _all_styles(self) -> Asset | None:
        """The style sheets that the page names, as one; None where it names none."""
        names = [name.decode() for name in _STYLE.findall(self._asset(_INDEX).content)]
        content = b"\n".join(self._asset(name).content for name in names)
        if self._styles is not None and self._styles.content == content:
            return self._styles
        return _make(0, content, _TYPES[".css"]) if names else None

    def _asset(self, name: str) -> Asset:
        if name == _STYLES:
            self._styles = self._styles or self._all_styles()
            if self._styles is not None:
                return self._styles
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
    return Asset(changed, len(content), content, tag, kind)


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
