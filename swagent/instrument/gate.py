"""Whether a library is there, in a version that its hook knows."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from ..inspection.known_versions import fits
from .instrumentation import STANDARD_LIBRARY, Instrumentation


def is_installed(instrumentation: Instrumentation) -> bool:
    """Whether the library is there at all."""
    return instrumentation.package == STANDARD_LIBRARY or version_of(instrumentation.package) is not None


def why_unsupported(instrumentation: Instrumentation) -> str | None:
    """Why the installed version is left alone; None: it is known."""
    if instrumentation.package == STANDARD_LIBRARY or not instrumentation.versions:
        return None
    found = version_of(instrumentation.package)
    if found is None:
        # it is not imported from an installed distribution, so its version is unknown
        return f"its version is unknown; {instrumentation.versions} is supported"
    if fits(found, instrumentation.versions):
        return None
    return f"version {found} is installed; {instrumentation.versions} is supported"


def version_of(distributions: str) -> str | None:
    """The version of the first installed distribution. Returns None if none of them is installed."""
    for distribution in distributions.split():
        try:
            return version(distribution)
        except PackageNotFoundError:
            continue
    return None
