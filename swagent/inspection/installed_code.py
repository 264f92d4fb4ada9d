"""The folders of the standard library and of installed packages: code in them is not the application's own."""

from __future__ import annotations

from functools import cache


@cache
def installed_folders() -> tuple[str, ...]:
    """The folders, as the file names of code begin with them."""
    # not at the start: it reads a module of the interpreter's build
    import sysconfig  # noqa: PLC0415, RUF100

    return tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})
