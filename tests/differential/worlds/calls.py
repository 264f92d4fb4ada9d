"""gRPC in its two kinds: client and server are both in the program's process."""

from __future__ import annotations

from differential.program import Line, World, call, choices, lines

_SERVICE = """
    import threading, time
    import grpc
    class Odd_:
        def __call__(self, request, context):
            event("callable", request)
            return request
    def look(request, context):
        event(request, [k for k, _ in context.invocation_metadata() if not k.startswith(("sw8", "trace", "user-agent"))])
        if request == b"abort":
            context.abort(grpc.StatusCode.NOT_FOUND, "no lamp")
        if request == b"broken":
            raise RuntimeError("broken")
        if request == b"code":
            context.set_code(grpc.StatusCode.DATA_LOSS)
            context.set_details("lost")
        if request == b"none":
            return None
        context.set_trailing_metadata((("x-t", "1"),))
        return request
    def many(request, context):
        for number in range(3):
            if request == b"broken" and number == 1:
                raise RuntimeError("broken")
            yield request
    def many_list(request, context):
        return [request, request]
    def sum_(requests, context):
        return b"".join(requests)
    def talk(requests, context):
        for each in requests:
            yield each
    handler = grpc.method_handlers_generic_handler("stock.Stock", {
        "Look": grpc.unary_unary_rpc_method_handler(look),
        "Odd": grpc.unary_unary_rpc_method_handler(Odd_()),
        "Many": grpc.unary_stream_rpc_method_handler(many),
        "List": grpc.unary_stream_rpc_method_handler(many_list),
        "Sum": grpc.stream_unary_rpc_method_handler(sum_),
        "Talk": grpc.stream_stream_rpc_method_handler(talk),
    })
    """
_REQUESTS = choices("b'lamp' | b'abort' | b'broken' | b'code' | b'none' | 'text'")
# a server that fails in a stream logs that at some time, or never where the stream is not read to its end
_ANSWERED = tuple(each for each in _REQUESTS if each != "b'broken'")
_STREAMS = choices("iter([b'a', b'b']) | [b'a'] | iter([]) | iter([1])")
_CALLED = {
    "timeout": "5 | 5.0",
    "metadata": "(('x-a', 'b'),) | [('x-a', 'b')] | (('BAD', 'b'),) | (('sw8', 'mine'),)",
    "credentials": "None",
    "wait_for_ready": "True",
    "compression": "None",
}
_ERROR = choices("{}.code() | {}.details() | {}.initial_metadata() | {}.trailing_metadata() | {}")
GRPC = World(
    "grpc",
    ("grpc",),
    _SERVICE
    + """
    from concurrent.futures import ThreadPoolExecutor
    class Watch(grpc.ServerInterceptor):
        def intercept_service(self, continuation, details):
            # a stream that is not read to its end arrives at some time, or never
            if details.method.endswith("/Look"):
                event("server", details.method)
            return continuation(details)
    class Client(grpc.UnaryUnaryClientInterceptor):
        def intercept_unary_unary(self, continuation, details, request):
            event("client", details.method, request)
            return continuation(details, request)
    workers = enter(ThreadPoolExecutor(2))
    server = grpc.server(workers, [handler], [Watch()])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    at_end(lambda: server.stop(0).wait(5))
    target = f"127.0.0.1:{port}"
    channel = enter(grpc.insecure_channel(target))
    mine = grpc.intercept_channel(channel, Client())
    def future(*args, **kwargs):
        made = channel.unary_unary('/stock.Stock/Look').future(*args, **kwargs)
        made.exception(5)
        return made
    """,
    (
        *(
            call(f"{of}.unary_unary('/stock.Stock/{name}') 1/6 x2", request=_REQUESTS, **_CALLED, _follow="{}")
            for of, name in (("channel", "Look"), ("mine", "Look"), ("channel", "Odd"), ("channel", "None"))
        ),
        call(
            "channel.unary_unary('/stock.Stock/Look').with_call 1/6",
            request=_REQUESTS,
            **_CALLED,
            _follow="{}[1].code() | {}[1]",
        ),
        call(
            "future 1/6",
            request=_REQUESTS,
            **_CALLED,
            _follow=(*choices("{}.result(5) | {}.exception(5) | {}.cancel()"), *_ERROR),
        ),
        *(
            call(f"list(channel.unary_stream('/stock.Stock/{name}')(*[{{}}]))".replace("{}", request))
            for name in ("Many", "List")
            for request in ("b'a'", "b'broken'")
        ),
        call(
            "channel.unary_stream('/stock.Stock/Many') 1/6",
            request=_ANSWERED,
            **_CALLED,
            _follow=(*choices("list({}) | next({}) | {}.cancel()"), *_ERROR),
        ),
        call("channel.stream_unary('/stock.Stock/Sum') 1/6", request_iterator=_STREAMS, **_CALLED),
        call(
            "channel.stream_stream('/stock.Stock/Talk') 1/6",
            request_iterator=_STREAMS,
            **_CALLED,
            _follow="list({}) | {}.cancel()",
        ),
        call(
            "grpc.insecure_channel 1/3",
            "target = target | NOWHERE | 17; options = None | []; compression = None",
            _follow="{}.close() | {}.unary_unary('/stock.Stock/Look')(b'lamp', timeout=5) | type({})",
        ),
        call(
            "grpc.server 1/6",
            "thread_pool = workers; handlers = [handler]; interceptors = None | [Watch()] | (Watch(),); "
            "options = None; maximum_concurrent_rpcs = 5; compression = None",
            _follow="type({}) | {}.stop(0).wait(5)",
        ),
        *lines(
            "channel.unary_unary(method='/stock.Stock/Look', request_serializer=None)(b'a') | "
            "type(channel) | describe(grpc.insecure_channel) | describe(grpc.server) | "
            "describe(grpc.secure_channel)"
        ),
        *(Line(f"surface('grpc', {number})") for number in range(0, 260, 30)),
    ),
    leaves=True,
)
GRPC_AIO = World(
    "grpc-aio",
    ("grpc",),
    """
    import asyncio
    import grpc
    from grpc import aio
    class Odd_:
        async def __call__(self, request, context):
            return request
    async def look(request, context):
        event(request)
        if request == b"abort":
            await context.abort(grpc.StatusCode.NOT_FOUND, "no lamp")
        if request == b"broken":
            raise RuntimeError("broken")
        return request
    async def many(request, context):
        for _ in range(3):
            yield request
    async def writes(request, context):
        await context.write(request)
        await context.write(request)
    async def sum_(requests, context):
        return b"".join([each async for each in requests])
    def sync(request, context):
        return request
    handler = grpc.method_handlers_generic_handler("stock.Stock", {
        "Look": grpc.unary_unary_rpc_method_handler(look),
        "Sync": grpc.unary_unary_rpc_method_handler(sync),
        "Odd": grpc.unary_unary_rpc_method_handler(Odd_()),
        "Many": grpc.unary_stream_rpc_method_handler(many),
        "Writes": grpc.unary_stream_rpc_method_handler(writes),
        "Sum": grpc.stream_unary_rpc_method_handler(sum_),
    })
    class Watch(aio.ServerInterceptor):
        async def intercept_service(self, continuation, details):
            event("server", details.method)
            return await continuation(details)
    class Client(aio.UnaryUnaryClientInterceptor):
        async def intercept_unary_unary(self, continuation, details, request):
            event("client", details.method)
            return await continuation(details, request)
    server = aio.server(None, [handler], [Watch()])
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    at_end(server.stop, 0)
    target = f"127.0.0.1:{port}"
    channel = await aenter(aio.insecure_channel(target))
    mine = await aenter(aio.insecure_channel(target, interceptors=[Client()]))
    """,
    (
        *(
            call(f"await {of}.unary_unary('/stock.Stock/{name}') 1/1 x2", request=_REQUESTS, **_CALLED, _follow="{}")
            for of, name in (
                ("channel", "Look"),
                ("mine", "Look"),
                ("channel", "Odd"),
                ("channel", "Sync"),
                ("channel", "None"),
            )
        ),
        call(
            "channel.unary_unary('/stock.Stock/Look') 1/1",
            request=_REQUESTS,
            **_CALLED,
            _follow="await {} | {}.cancel() | await {}.code() | await {}.details() | type({})",
        ),
        *(
            call(
                f"channel.unary_stream('/stock.Stock/{name}') 1/1",
                request=_REQUESTS,
                **_CALLED,
                _follow="[each async for each in {}] | await {}.read() | {}.cancel()",
            )
            for name in ("Many", "Writes")
        ),
        call("await channel.stream_unary('/stock.Stock/Sum') 1/1", request_iterator=_STREAMS, **_CALLED),
        call(
            "aio.insecure_channel 1/4",
            "target = target | NOWHERE; options = None | []; compression = None; interceptors = [] | [Client()] | None",
            _follow="await {}.close() | await {}.unary_unary('/stock.Stock/Look')(b'a', timeout=5)",
        ),
        call(
            "aio.server 0/6",
            "migration_thread_pool = None; handlers = [handler]; interceptors = None | [Watch()] | (Watch(),); "
            "options = None; maximum_concurrent_rpcs = 5; compression = None",
            _follow="type({})",
        ),
        *lines("describe(aio.insecure_channel) | describe(aio.server) | type(channel)"),
    ),
    loops=("asyncio",),
    leaves=True,
)


WORLDS = (GRPC, GRPC_AIO)
