"""Documents, searches, language models, and a library that writes logs."""

from __future__ import annotations

from differential.program import Call, Line, World, call


def _mongo(c: str, wait: str) -> list[Call | Line]:
    return [
        call(
            f"{wait}{c}.find_one 0/1 x3", filter="{'a': 1} | {'gone': 1} | {}", projection="{'a': 1}", max_time_ms="100"
        ),
        call(
            f"{wait}{c}.insert_one 1/1 x2",
            document="{'a': 1} | {'a': object()} | {'_id': 1}",
            _follow="{}.acknowledged | {}",
        ),
        call(f"{wait}{c}.insert_many 1/2", documents="[{'a': 1}] | []", ordered="False"),
        call(f"{wait}{c}.update_one 2/3", filter="{'a': 1}", update="{'$set': {'b': 1}} | {'b': 1}", upsert="True"),
        call(f"{wait}{c}.delete_many 1/1", filter="{'a': 1}"),
        call(f"{wait}{c}.aggregate 1/1", pipeline="[{'$match': {}}]"),
        call(f"{wait}db.command 1/2", command="'ping' | 'nonsense' | {'ping': 1}", value="1"),
        Line(f"{wait}db.taken.insert_one({{'a': 1}})"),
        Line(f"{wait}client.server_info()"),
        Line(f"type({c})"),
    ]


_MONGO_LISTENER = """
    from pymongo import monitoring
    class Listener(monitoring.CommandListener):
        def started(self, e):
            event("started", e.command_name)
        def succeeded(self, e):
            event("succeeded", e.command_name)
        def failed(self, e):
            event("failed", e.command_name)
    """
PYMONGO = World(
    "pymongo",
    ("pymongo",),
    _MONGO_LISTENER
    + """
    import pymongo
    client = pymongo.MongoClient("127.0.0.1", int(PORT), serverSelectionTimeoutMS=3000, event_listeners=[Listener()])
    at_end(client.close)
    db = client.shop
    orders = db.orders
    """,
    (
        *_mongo("orders", ""),
        Line("list(orders.find({}, batch_size=1))"),
        Line("orders.find({})", follow=("next({})", "list({})", "{}.close()")),
        Line("client.options.event_listeners"),
        *(Line(f"surface('pymongo', {number})") for number in range(0, 500, 60)),
    ),
    peers=("mongo",),
    leaves=True,
)


def _search(name: str, module: str, kind: str) -> list[World]:
    worlds = []
    for is_async in (False, True):
        wait, prefix = ("await ", "Async") if is_async else ("", "")
        calls: tuple[Call | Line, ...] = (
            call(
                f"{wait}client.search 0/0 x3",
                index="'orders' | 'missing' | 'busy'",
                body="{'query': {'match_all': {}}} | object()",
            ),
            call(f"{wait}client.index 0/0", index="'orders'", body="{'a': 1}", id="'17'"),
            call(f"{wait}client.get 0/0", index="'orders' | 'missing'", id="'17'", _follow="{}['found'] | {}"),
            Line(f"{wait}client.indices.exists(index='orders')"),
            call(f"{wait}client.count 0/0", index="'orders'"),
            Line("describe(client.search)"),
            Line(f"type(client) is {module}.{prefix}{kind}"),
            Line(f"{wait}client.ping()"),
            Line("describe(client.transport.perform_request)"),
            call(
                f"{wait}client.transport.perform_request 2/2",
                "method = 'GET'; target = '/orders/_search'; url = '/orders'; "
                "headers = {'accept': 'application/json'}; body = None",
            ),
            *(Line(f"surface('{module}', {number})") for number in range(0, 500, 60)),
        )
        setup = f"""
    import {module}
    client = {module}.{prefix}{kind}(URL)
    at_end(client.close)
    """
        loops = ("asyncio",) if is_async else ()
        worlds.append(
            World(f"{name}-async" if is_async else name, (module,), setup, calls, peers=("search",), loops=loops)
        )
    return worlds


def _llm(name: str, kind: str, base: str, calls: list[str]) -> list[World]:
    worlds = []
    for is_async in (False, True):
        wait, prefix = ("await ", "Async") if is_async else ("", "")
        messages = ("[{'role': 'user', 'content': 'hi'}]", "'hi'", "object()")
        rows: list[Call | Line] = [
            call(
                f"{wait}client.{path} 3/0 x4",
                model="'gpt-17' | 'none'",
                messages=messages,
                max_tokens="5",
                stream="False | True",
                timeout="5",
                extra_headers="{'x-a': 'b'}",
                _follow=(
                    "{}",
                    "[each async for each in {}]" if is_async else "list({})",
                    "await {}.close()" if is_async else "{}.close()",
                    "{}.model_dump()",
                ),
            )
            for path in calls
        ]
        setup = f"""
    import {name}
    client = {name}.{prefix}{kind}(base_url={base}, api_key="secret", max_retries=0)
    at_end(client.close)
    """
        surface = [Line(f"surface('{name}', {number})") for number in range(0, 300, 40)]
        rows += [
            call(f"{wait}client.post 1/1", path="'/chat/completions'", cast_to="object", body="{'model': 'gpt-17'}")
        ]
        if name == "openai":
            rows.append(call(f"{wait}client.embeddings.create 0/0", model="'gpt-17'", input="'a' | ['a']"))
        whole: tuple[Call | Line, ...] = (*rows, Line("describe(type(client).request)"), *surface)
        loops = ("asyncio",) if is_async else ()
        worlds.append(
            World(f"{name}-async" if is_async else name, (name,), setup, whole, peers=("provider",), loops=loops)
        )
    return worlds


LOGURU = World(
    "loguru",
    ("loguru",),
    """
    import io
    from loguru import logger
    text = io.StringIO()
    number = logger.add(text, format="{level} {message} {function} {name} {extra}", backtrace=False)
    at_end(logger.remove, number)
    """,
    (
        *(
            call(
                f"logger.{level} 1/1 x2",
                "message = 'hello {}' | 'hello' | 17 | '{a} {b}'; * = 'a' | Odd(); a = 1",
                _follow="text.getvalue()",
            )
            for level in (
                "info",
                "error",
                "exception",
                "opt(exception=True).warning",
                "bind(x=1).info",
                "opt(lazy=True).info",
                "opt(depth=1).info",
            )
        ),
        call("logger.log 2/2", level="'INFO' | 17 | 'NONE'", message="'hello'"),
        Line("describe(type(logger).info)"),
        Line("logger.catch(lambda: 1 / 0)()", follow=("text.getvalue()",)),
        Line("describe(type(logger)._log)"),
    ),
    records=False,
)

WORLDS = (
    PYMONGO,
    *_search("elasticsearch", "elasticsearch", "Elasticsearch"),
    *_search("opensearch", "opensearchpy", "OpenSearch"),
    *_llm("openai", "OpenAI", "URL + '/v1'", ["chat.completions.create"]),
    *_llm("anthropic", "Anthropic", "URL", ["messages.create"]),
    LOGURU,
)
