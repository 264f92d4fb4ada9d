"""gevent warns, at each start of a server, of the modules that hold the class of `ssl` which it replaces."""

from __future__ import annotations

import pkgutil
import ssl
from importlib import import_module

import swagent_transports


def test_no_module_holds_a_context_class_of_its_own() -> None:
    names = [each.name for each in pkgutil.iter_modules(swagent_transports.__path__)]
    assert "_grpclib" in names
    modules = [import_module(f"swagent_transports.{name}") for name in names]
    assert [module.__name__ for module in modules if ssl.SSLContext in vars(module).values()] == []
