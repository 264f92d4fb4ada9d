"""grpc: an interceptor on every channel and server that is made, on asyncio too."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ....hosting.late_start import note_serving
from ...arguments import Args, Kwargs, argument, with_changed
from ...call import safely
from ...instrumentation import Instrumentation
from ...listeners import Listeners
from ...patches import Patches
from ...rewriting import rewriting_argument, rewriting_call
from . import grpc_client, grpc_server
from .grpc_call import peer_of

_INTERCEPTORS = "interceptors"
# Their place among the arguments of both servers, which begin alike: a pool of threads, handlers, interceptors.
_OF_SERVERS = 2


def _hook(module: Any, patches: Patches) -> None:
    for name, place in (("insecure_channel", 3), ("secure_channel", 4)):
        patches.wrap(module, name, partial(_around_channel, grpc=module, listeners=patches.listeners))
        patches.wrap(module.aio, name, rewriting_call(partial(_with_last, module.aio, patches.listeners, place)))
    ours = grpc_server.interceptor(module), grpc_server.asyncio_interceptor(module.aio)
    for owner, interceptor in zip((module, module.aio), ours, strict=True):
        patches.wrap(owner, "server", rewriting_argument(_OF_SERVERS, _INTERCEPTORS, partial(_with_first, interceptor)))


def _around_channel(make: Callable[..., Any], grpc: Any, listeners: Listeners) -> Callable[..., Any]:
    def channel(*args: Any, **kwargs: Any) -> Any:
        made = make(*args, **kwargs)
        return safely(_intercepted, grpc, made, argument(args, kwargs, 0, "target"), listeners) or made

    return channel


def _intercepted(grpc: Any, channel: Any, target: str, listeners: Listeners) -> Any:
    return grpc.intercept_channel(channel, grpc_client.interceptor(grpc, peer_of(target), listeners))


def _with_last(aio: Any, listeners: Listeners, place: int, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """The arguments of a channel with our interceptors behind the application's.

    :param place: of the interceptors among the arguments
    """
    ours = grpc_client.asyncio_interceptors(aio, peer_of(argument(args, kwargs, 0, "target", "")), listeners)
    return with_changed(args, kwargs, place, _INTERCEPTORS, lambda given: [*(given or ()), *ours])


def _with_first(interceptor: Any, given: Any) -> list[Any]:
    """The interceptors of a server with ours before the application's."""
    note_serving()
    return [interceptor, *(given or ())]


INSTRUMENTATION = Instrumentation(
    name="grpc",
    module="grpc",
    hook=_hook,
    distribution="grpcio",
    versions=">=1.60,<2",
    plugins=("sw_grpc",),
    opentelemetry=("grpc_client", "grpc_server", "grpc_aio_client", "grpc_aio_server"),
    shows_calls=True,
)
