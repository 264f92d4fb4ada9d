"""Redis and Valkey, against a real server for each side."""

from __future__ import annotations

from differential.program import Call, Line, World, call, choices

_KEYS = choices("'a' | b'b' | 'n' | 'hash' | 'none' | 17 | 'é'")
_VALUES = choices("'x' | b'y' | 1 | 1.5 | 'a b'")


def _calls(client: str, wait: str) -> tuple[Call | Line, ...]:
    c = f"{wait}{client}"
    return (
        call(f"{c}.get 1/1 x2", name=_KEYS),
        call(
            f"{c}.set 2/9 x2",
            name=_KEYS,
            value=_VALUES,
            ex="100 | 'x'",
            px="None",
            nx="True | False",
            xx="False",
            keepttl="False",
            get="True | False",
        ),
        call(
            f"{c}.execute_command 0/0 x3",
            "* = 'SET' | 'GET' | 'a' | 'SET k v' | b'GET' | 'CONFIG GET' | 17 | 'save' | 'NONSENSE'; "
            "target_nodes = None; NEVER_DECODE = True",
        ),
        call(f"{c}.hset 1/4", name="'hash' | 'a'", key="'f'", value="1", mapping="{'g': 2}"),
        call(f"{c}.hgetall 1/1", name="'hash' | 'a'"),
        call(f"{c}.incr 1/2", name="'n' | 'a'", amount="2"),
        call(f"{c}.delete 0/0", _rest=_KEYS),
        call(f"{c}.mget 1/1", keys="['a', 'b'] | 'a'", _rest=_KEYS),
        call(f"{c}.lpush 1/1", name="'list'", _rest=_VALUES),
        call(f"{c}.lrange 3/3", name="'list'", start="0", end="-1"),
        call(f"{c}.expire 2/2", name=_KEYS, time="10 | 'x'"),
        call(f"{c}.ping"),
        call(f"{c}.eval 2/2", script="'return 1' | 'nonsense'", numkeys="0", _rest="'a'"),
        Line(f"{c}.blpop(['none'], 0.01)"),
        Line(f"describe({client}.execute_command)"),
        Line(f"describe(type({client}.pipeline()).execute)"),
        Line(f"describe({client}.pipeline().immediate_execute_command)"),
        Line(f"[p := {client}.pipeline(), p.set('a', 1), p.get('a'), p.incr('a'), {wait}p.execute()][-1]", 2),
        Line(f"[p := {client}.pipeline(), p.set('s', 'x'), p.incr('s'), {wait}p.execute(raise_on_error=False)][-1]"),
        Line(f"[p := {client}.pipeline(transaction=False), p.set('s', 'x'), p.incr('s'), {wait}p.execute()][-1]"),
        Line(f"[p := {client}.pipeline(), {wait}p.execute(False)][-1]"),
        Line(f"[p := {client}.pipeline(), {wait}p.execute(odd=1)]"),
        Line(
            f"[p := {client}.pipeline(), {wait}p.watch('a'), {wait}p.get('a'), p.multi(), p.set('a', 2), {wait}p.execute()]"
        ),
        Line(f"{client}.pipeline()"),
        Line(f"type({client})"),
    )


def _world(name: str, package: str, kind: str, *, is_async: bool = False) -> World:
    wait = "await " if is_async else ""
    module = f"{package}.asyncio" if is_async else package
    setup = f"""
    import {package}, {module}
    class Own({module}.{kind}):
        {"async " if is_async else ""}def execute_command(self, *args, **options):
            event("own", args)
            return {wait}super().execute_command(*args, **options)
    client = {module}.{kind}(host="127.0.0.1", port=int(PORT))
    own = Own(host="127.0.0.1", port=int(PORT), decode_responses=True)
    nowhere = {module}.{kind}(host="127.0.0.1", port=int(NOWHERE.split(":")[1]))
    for each in (client, own, nowhere):
        at_end(each.{"aclose" if is_async else "close"})
    {wait}client.flushall()
    """
    calls = (
        *_calls("client", wait),
        *_calls("own", wait),
        call(f"{wait}nowhere.get 1/1", name="'a'"),
        *(Line(f"surface('{module}', {number})") for number in range(0, 800, 80)),
    )
    loops = ("asyncio", "uvloop") if is_async else ()
    return World(name, (package,), setup, calls, peers=("redis",), loops=loops)


WORLDS = (
    _world("redis", "redis", "Redis"),
    _world("redis-async", "redis", "Redis", is_async=True),
    _world("valkey", "valkey", "Valkey"),
    _world("valkey-async", "valkey", "Valkey", is_async=True),
)
