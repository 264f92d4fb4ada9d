"""grpc: an interceptor on every channel and server that is made, on asyncio too."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ...arguments import Args, Kwargs, argument, with_argument
from ...call import safely
from ...instrumentation import Instrumentation
from ...patches import Patches
from . import grpc_client, grpc_server
from .grpc_call import peer_of

_INTERCEPTORS = "interceptors"
# Their place among the arguments of both servers, which begin alike: a pool of threads, handlers, interceptors.
_OF_SERVERS = 2


def _hook(module: Any, patches: Patches) -> None:
    for name, place in (("insecure_channel", 3), ("secure_channel", 4)):
        patches.wrap(module, name, partial(_around_channel, grpc=module))
        patches.wrap(module.aio, name, partial(_around_asyncio_channel, aio=module.aio, place=place))
    patches.wrap(module, "server", lambda make: _around_server(make, grpc_server.interceptor(module)))
    patches.wrap(module.aio, "server", lambda make: _around_server(make, grpc_server.asyncio_interceptor(module.aio)))


def _around_channel(make: Callable[..., Any], grpc: Any) -> Callable[..., Any]:
    def channel(*args: Any, **kwargs: Any) -> Any:
        made = make(*args, **kwargs)
        return safely(_intercepted, grpc, made, argument(args, kwargs, 0, "target")) or made

    return channel


def _intercepted(grpc: Any, channel: Any, target: str) -> Any:
    return grpc.intercept_channel(channel, grpc_client.interceptor(grpc, peer_of(target)))


def _around_asyncio_channel(make: Callable[..., Any], aio: Any, place: int) -> Callable[..., Any]:
    """:param place: of the interceptors among the arguments"""

    def channel(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = safely(_with_last, aio, args, kwargs, place) or (args, kwargs)
        return make(*args, **kwargs)

    return channel


def _with_last(aio: Any, args: Args, kwargs: Kwargs, place: int) -> tuple[Args, Kwargs]:
    """The arguments of a channel with our interceptors behind the application's."""
    given = argument(args, kwargs, place, _INTERCEPTORS)
    ours = grpc_client.asyncio_interceptors(aio, peer_of(argument(args, kwargs, 0, "target", "")))
    return with_argument(args, kwargs, place, _INTERCEPTORS, [*(given or ()), *ours])


def _around_server(make: Callable[..., Any], interceptor: Any) -> Callable[..., Any]:
    def server(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = safely(_with_first, interceptor, args, kwargs) or (args, kwargs)
        return make(*args, **kwargs)

    return server


def _with_first(interceptor: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """The arguments of a server with our interceptor before the application's."""
    given = argument(args, kwargs, _OF_SERVERS, _INTERCEPTORS)
    return with_argument(args, kwargs, _OF_SERVERS, _INTERCEPTORS, [interceptor, *(given or ())])


INSTRUMENTATION = Instrumentation(
    name="grpc",
    module="grpc",
    hook=_hook,
    distribution="grpcio",
    versions=">=1.60,<2",
    plugins=("sw_grpc",),
    opentelemetry=("grpc_client", "grpc_server", "grpc_aio_client", "grpc_aio_server"),
)
