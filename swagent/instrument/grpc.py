"""grpc: an interceptor on every channel and server that is made, on asyncio too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import grpc_client, grpc_server
from .call import safely
from .grpc_call import peer_of
from .instrumentation import Instrumentation
from .patches import Patches


def _hook(module: Any, patches: Patches) -> None:
    for name in ("insecure_channel", "secure_channel"):
        patches.wrap(module, name, lambda make: _around_channel(make, module))
        patches.wrap(module.aio, name, lambda make: _around_asyncio_channel(make, module.aio))
    patches.wrap(module, "server", lambda make: _around_server(make, grpc_server.interceptor(module)))
    patches.wrap(module.aio, "server", lambda make: _around_server(make, grpc_server.asyncio_interceptor(module.aio)))


def _around_channel(make: Callable[..., Any], grpc: Any) -> Callable[..., Any]:
    def channel(target: str, *args: Any, **kwargs: Any) -> Any:
        made = make(target, *args, **kwargs)
        return safely(lambda: grpc.intercept_channel(made, grpc_client.interceptor(grpc, peer_of(target)))) or made

    return channel


def _around_asyncio_channel(make: Callable[..., Any], aio: Any) -> Callable[..., Any]:
    def channel(*args: Any, interceptors: Any = None, **kwargs: Any) -> Any:
        target = args[0] if args else kwargs.get("target", "")
        ours = safely(lambda: grpc_client.asyncio_interceptors(aio, peer_of(target))) or []
        return make(*args, interceptors=[*(interceptors or ()), *ours], **kwargs)

    return channel


def _around_server(make: Callable[..., Any], interceptor: Any) -> Callable[..., Any]:
    def server(*args: Any, **kwargs: Any) -> Any:
        if len(args) > _BEFORE_INTERCEPTORS:
            args = (*args[:_BEFORE_INTERCEPTORS], [interceptor, *(args[_BEFORE_INTERCEPTORS] or ())], *args[3:])
        else:
            kwargs["interceptors"] = [interceptor, *(kwargs.get("interceptors") or ())]
        return make(*args, **kwargs)

    return server


# The arguments of both servers begin alike: a pool of threads, handlers, interceptors.
_BEFORE_INTERCEPTORS = 2

INSTRUMENTATION = Instrumentation(
    name="grpc",
    module="grpc",
    hook=_hook,
    distribution="grpcio",
    versions=">=1.60,<2",
    plugins=("sw_grpc",),
    opentelemetry=("grpc_client", "grpc_server", "grpc_aio_client", "grpc_aio_server"),
)
