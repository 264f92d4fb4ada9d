"""The bill of materials: what an installation brings, and the JavaScript that the wheel holds."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from licences.notice import package_url

Bom = dict[str, Any]


def with_vendored(bom: Bom, manifest: Mapping[str, Mapping[str, Any]]) -> Bom:
    """The bill with the libraries of the collector's page among its components, and without what changes by the day.

    :param bom: CycloneDX as JSON
    :param manifest: the page's libraries by their names, as `vendor/manifest.json` has them
    """
    added = [_component(name, entry) for name, entry in manifest.items()]
    metadata = {key: value for key, value in bom.get("metadata", {}).items() if key != "timestamp"}
    components = sorted([*bom.get("components", []), *added], key=lambda each: each["bom-ref"])
    kept = {key: value for key, value in bom.items() if key != "serialNumber"}
    return {**kept, "metadata": metadata, "components": [_anywhere(each) for each in components]}


def missing(bom: Bom, names: set[str]) -> list[str]:
    """Which of these the bill does not name, a sentence each."""
    found = {each["name"].lower().replace("_", "-") for each in bom["components"]}
    return [f"The bill of materials does not name {name}." for name in sorted(names - found)]


def _component(name: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    digest = base64.b64decode(entry["integrity"].removeprefix("sha512-")).hex()
    url = package_url(name, entry)
    return {
        "type": "library",
        "bom-ref": url,
        "name": name,
        "version": entry["version"],
        "licenses": [{"license": {"id": entry["licence"]}}],
        "purl": url,
        "externalReferences": [{"type": "distribution", "url": url, "hashes": [{"alg": "SHA-512", "content": digest}]}],
    }


def _anywhere(component: dict[str, Any]) -> dict[str, Any]:
    """The component without the paths of the machine that made the list."""
    places = [each for each in component.get("externalReferences", []) if not each["url"].startswith("file:")]
    rest = {key: value for key, value in component.items() if key != "externalReferences"}
    return {**rest, "externalReferences": places} if places else rest
