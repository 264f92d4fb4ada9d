"""The properties of the instance, as SkyWalking's Python agents report them."""

from __future__ import annotations

import os
import socket
import sys

from ..abc import Instance
from ..config import Config

# As the standard library's `platform` names them, which takes long to import.
_IMPLEMENTATIONS = {"cpython": "CPython", "pypy": "PyPy", "graalpy": "GraalVM"}


def describe_instance(config: Config) -> Instance:
    """The instance with its properties; those of the user come last and win."""
    properties = {
        "language": "python",
        "OS Name": os.uname().sysname if hasattr(os, "uname") else "Windows",
        "Process No.": str(os.getpid()),
        "hostname": socket.gethostname(),
        "ipv4": _own_address(),
        "python_implementation": _IMPLEMENTATIONS.get(sys.implementation.name, sys.implementation.name),
        "python_version": sys.version.partition(" ")[0],
    }
    if config.namespace:
        properties["namespace"] = config.namespace
    properties.update(config.instance_properties)
    return Instance(config.service_name, config.instance, tuple(properties.items()))


def _own_address() -> str:
    """This host's address, from the local tables only. Connecting a datagram socket sends nothing; asking a name server
    could block."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(("192.0.2.1", 9))  # TEST-NET-1 of RFC 5737, which no host has
            return str(probe.getsockname()[0])
    except OSError:
        return "127.0.0.1"
