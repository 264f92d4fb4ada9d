"""NOTICE: who wrote what the distributions hold, and under which licence. Generated."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
VENDOR = "swagent/collector/page/vendor"
# The files that have to be as this module writes them, and the accelerator's copies.
WHOLE, NATIVE = ROOT / "NOTICE", ROOT / "swagent" / "native"
_OWN = """\
swagent

Copyright the authors of swagent. Licensed under the Apache License, Version 2.0; its text is in LICENSE.
"""
_PROTOCOLS = """
The .proto files in proto_gen/ have the names, numbers and types of two protocols, both under the Apache License,
Version 2.0:

- Apache SkyWalking, Copyright The Apache Software Foundation
  https://github.com/apache/skywalking-data-collect-protocol
- OpenTelemetry, Copyright The OpenTelemetry Authors
  https://github.com/open-telemetry/opentelemetry-proto
"""
_PAGE = f"""
The collector's page holds JavaScript of others, in {VENDOR}/:
"""


def whole(vendor: Path = ROOT / VENDOR) -> str:
    """The text of NOTICE.

    :param vendor: the folder of the page's libraries, their licences and the manifest
    """
    manifest: Mapping[str, dict[str, object]] = json.loads((vendor / "manifest.json").read_text("utf-8"))
    return _OWN + _PROTOCOLS + _PAGE + "".join(_library(name, manifest[name], vendor) for name in sorted(manifest))


def complaints(vendor: Path = ROOT / VENDOR) -> list[str]:
    """What is amiss with the legal files, a sentence each."""
    said = [] if _read(WHOLE) == whole(vendor) else ["NOTICE is not as its generator writes it: make generate."]
    pairs = {"NOTICE": _OWN, "LICENSE": _read(ROOT / "LICENSE")}
    return said + [
        f"swagent/native/{name} is not as its generator writes it: make generate."
        for name, content in pairs.items()
        if _read(NATIVE / name) != content
    ]


def write() -> None:
    """Write NOTICE, and what the accelerator's distribution has of it."""
    WHOLE.write_text(whole(), "utf-8")
    (NATIVE / "NOTICE").write_text(_OWN, "utf-8")
    (NATIVE / "LICENSE").write_bytes((ROOT / "LICENSE").read_bytes())


def package_url(name: str, entry: Mapping[str, object]) -> str:
    """The name of a library of the page, as package URLs have it (https://github.com/package-url/purl-spec).

    :param entry: what the manifest says of it
    """
    return f"pkg:npm/{name.replace('@', '%40')}@{entry['version']}"


def _library(name: str, entry: Mapping[str, object], vendor: Path) -> str:
    text = f"{name.rpartition('/')[2]}.LICENSE"
    lines = (vendor / text).read_text("utf-8").splitlines()
    # the text of Apache-2.0 ends with an example, whose year is in brackets
    holders = [line.strip() for line in lines if line.strip().startswith("Copyright") and "[yyyy]" not in line]
    return (
        f"\n- {name} {entry['version']}, {entry['licence']}; the text is in {text}\n"
        + "".join(f"  {each}\n" for each in holders)
        + f"  {package_url(name, entry)}\n"
    )


def _read(path: Path) -> str:
    return path.read_text("utf-8") if path.is_file() else ""
