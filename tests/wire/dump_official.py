"""Run with the official agent's packages on the path: writes its FileDescriptorSet to standard output."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2  # type: ignore[import-untyped, unused-ignore]


def main(packages: Path) -> None:
    files: dict[str, Any] = {}

    def collect(file: Any) -> None:
        for needed in file.dependencies:
            collect(needed)
        files[file.name] = descriptor_pb2.FileDescriptorProto.FromString(file.serialized_pb)

    for path in sorted((packages / "skywalking" / "protocol").rglob("*_pb2.py")):
        name = ".".join(path.relative_to(packages).with_suffix("").parts)
        collect(importlib.import_module(name).DESCRIPTOR)
    sys.stdout.buffer.write(descriptor_pb2.FileDescriptorSet(file=files.values()).SerializeToString())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
