"""Differences that are known, with the reason for each.

The list is to be short. Each entry has a program that shows it, and a test runs that program: an entry that shows no
difference any more is to be taken out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from differential.comparison import Difference
from swagent import acceleration


@dataclass(frozen=True)
class Known:
    """One difference.

    :ivar reason: why it is there
    :ivar worlds: where it is seen, as a regular expression
    :ivar line: of the program, as a regular expression
    :ivar place: in the observation, likewise
    :ivar bare: what is seen there without the agent, likewise
    :ivar agent: and with it
    :ivar witness: a world, and lines that show it
    :ivar whole: whether it is about all places of the line that begin as this one does, up to the end of `place`
    :ivar accelerated: whether it is the accelerator's alone, so that it is a difference like any other without it
    """

    reason: str
    worlds: str
    witness: tuple[str, Sequence[str]]
    line: str = ""
    place: str = ""
    bare: str = ""
    agent: str = ""
    whole: bool = False
    accelerated: bool = False

    def covers(self, world: str, difference: Difference) -> bool:
        """Whether this is the one."""
        return (
            (not self.accelerated or acceleration.native is not None)
            and re.fullmatch(self.worlds, world) is not None
            and re.search(self.line, difference.line) is not None
            and re.search(self.place, difference.place) is not None
            and re.search(self.bare, difference.bare) is not None
            and re.search(self.agent, difference.agent) is not None
        )

    def covered(self, world: str, differences: Sequence[Difference]) -> set[Difference]:
        """Those that are of this kind."""
        found = {each for each in differences if self.covers(world, each)}
        if not self.whole:
            return found
        begins = {(each.line, match[0]) for each in found if (match := re.search(self.place, each.place))}
        return {
            each
            for each in differences
            if any(each.line == line and each.place.startswith(begin) for line, begin in begins)
        }


KNOWN: tuple[Known, ...] = (
    Known(
        "A function in a pool's thread is called by the object that carries the context there, and loguru's `depth` "
        "counts frames.",
        worlds="loguru",
        line=r"getvalue\(\)",
        place="^value$",
        bare=r" run concurrent\.futures\.thread ",
        agent=r" __call__ swagent\.record\.threads ",
        witness=("loguru", ("in_pool(lambda: logger.opt(depth=1).info('{a} {b}'))", "text.getvalue()")),
    ),
    Known(
        "A message carries the context in its headers, and one that comes back to its sender is logged with them.",
        worlds="pika",
        place=r"^logs/\d+/2$",
        bare="^Published message was returned",
        agent=r'BasicProperties\(\["headers=',
        witness=(
            "pika",
            ("channel.confirm_delivery()", "channel.basic_publish('', 'nowhere', b'a', mandatory=True)"),
        ),
    ),
    Known(
        "The same: a worker sends a message whose time has come on with all its options, and puts one aside whose "
        "actor it does not know. Middleware sees them there. Where a message is worked on, the context is not among "
        "them any more.",
        worlds="dramatiq",
        place=r"^elsewhere/\d+/tuple/1$",
        bare="^bool False$",
        agent="^bool True$",
        witness=("dramatiq", ("add.send_with_options(args=(1,), delay=1)", "work()")),
    ),
    Known(
        "The request goes on until its body is read or closed, so the server gets an iterator around the body.",
        worlds="flask|django",
        place="^value/",
        agent=r"swagent\.wsgi\.\w+\.(Sized)?Pieces",
        whole=True,
        witness=("flask", ("app(environ_of('/items/7'), lambda s, h, e=None: None)",)),
    ),
    Known(
        "The same: and an iterator around a body has a `close`.",
        worlds="wsgi",
        line=r"\bcall\(",
        place="^value/tuple/1$",
        agent="^bool True$",
        witness=("wsgi", ("call(app=iterator)",)),
    ),
    Known(
        "The `start_response` that an application gets is an object with the attributes of the server's, and is no "
        "method as wsgiref's is.",
        worlds="wsgiref|wsgi",
        place=r"^(elsewhere|events)/\d+/tuple/0/",
        agent="builtins.callable|^1$",
        whole=True,
        witness=("wsgiref", (r"ask_of(looks, 'GET / HTTP/1.0\r\n\r\n')",)),
    ),
    Known(
        "An environ has a mark with the request's scope, so that a second middleware makes no span, and frameworks "
        "leave the route there.",
        worlds="wsgi|wsgiref",
        place=r"^(value|(events|elsewhere)/\d+)/",
        agent=r"swagent\.(scope|wsgi)",
        whole=True,
        witness=("wsgi", ("call(lambda *a: a)",)),
    ),
    Known(
        "The middleware is an object whose `__call__` is a coroutine function, whatever the application is.",
        worlds="asgi",
        line="iscoroutinefunction",
        place="^value$",
        agent="^bool True$",
        witness=("asgi", ("asyncio.iscoroutinefunction(asgi(plain).__call__)",)),
    ),
    Known(
        "A scope has a mark with the request's span, so that a second middleware makes none.",
        worlds="asgi|fastapi|django-asgi|sanic",
        place=r"^(elsewhere|events)/\d+/tuple/\d/",
        agent="swagent.span",
        whole=True,
        witness=("asgi", ("await ask(looks)",)),
    ),
    Known(
        "The accelerator's `send` is an object of C. It is callable, a coroutine function, and has the names and the "
        "signature of a function or a method, whose types nothing else can have.",
        worlds="asgi",
        line="^$",
        place=r"^(events|elsewhere)/\d+/tuple/0/(list/2|length)$",
        bare=r"^(str 'inspect\.ismethod'|4)$",
        agent=r"^(\(nothing\)|3)$",
        accelerated=True,
        witness=("asgi", ("await ask(looks)",)),
    ),
    Known(
        "gRPC lets its calls be followed by interceptors, and its channels and calls with one are of other classes.",
        worlds="grpc|grpc-aio",
        place="",
        agent=r"grpc\.(aio\.)?_interceptor\b",
        whole=True,
        witness=("grpc", ("type(channel)",)),
    ),
    Known(
        "sqlite3, psycopg2 and others are written in C, where no method can be replaced: a subclass takes the place of "
        "the class. It has the class's name, and its metaclass says that it is the class.",
        worlds="sqlite3|psycopg2|asyncmy|confluent-kafka",
        line=r"^type\(|__(mro|subclasses|class)__",
        place="^value/",
        agent=r"subclass\.Meta|\{'class'|^cannot be pickled$",
        whole=True,
        witness=("psycopg2", ("type(cursor)",)),
    ),
    Known(
        "The same: a method of such a subclass is one of Python.",
        worlds="sqlite3|psycopg2|confluent-kafka",
        line=r"^(describe|surface)\(",
        place=r"^value/",
        agent=r"method|function|psycopg2|sqlite3|cimpl|cannot be pickled",
        whole=True,
        witness=("psycopg2", ("describe(cursor.execute)",)),
    ),
    Known(
        "The same: errors name a class of C with its module, and one of Python without.",
        worlds="sqlite3|psycopg2|asyncmy|confluent-kafka",
        place="^raises/(args/0|text)$",
        bare=r"'[\w.]+\.(\w+)' object",
        agent=r"'\w+' object",
        witness=("sqlite3", ("db.cursor(factory=list)",)),
    ),
    Known(
        "asyncmy is compiled, and its coroutines are of a class of the compiler's. Those of a wrapper are Python's.",
        worlds="asyncmy",
        place="^value/",
        bare=r"^_cython_\w+\.coroutine$",
        whole=True,
        witness=("asyncmy", ("cursor.execute('SELECT 1')",)),
    ),
    Known(
        "An iterator around a body is none of the framework's own classes, and says so when it has no length.",
        worlds="flask|django",
        line=r"^len\(",
        place="^raises/",
        agent="'Pieces'",
        witness=("flask", ("app(environ_of('/items/7'), lambda s, h, e=None: None)", "len(r0)")),
    ),
    Known(
        "pymongo lets its commands be followed by listeners, and each client has a list of them.",
        worlds="pymongo",
        place="^value/",
        agent="pymongo._listen",
        whole=True,
        witness=("pymongo", ("client.options.event_listeners",)),
    ),
    Known(
        "Sanic lets its requests be followed by middleware, loguru its records by sinks, and a pickle of an "
        "application or a logger names them.",
        worlds="sanic|loguru",
        place=r"^value/(pickle|dict/8/1)",
        agent=r"swagent\.",
        whole=True,
        witness=("loguru", ("describe(logger.error)",)),
    ),
    Known(
        "A record is confirmed by the future that the application gets: it has a callback, which its `repr` shows.",
        worlds="aiokafka",
        place=r"/repr$",
        agent=r"<Future .* cb=\[_?\w*delivered",
        witness=("aiokafka", ("await producer.send('orders', b'1')",)),
    ),
    Known(
        "The same: it is a step behind, so less of it has arrived when it is cancelled.",
        worlds="grpc-aio",
        place=r"^(elsewhere|events|logs|warnings)\b",
        witness=("grpc-aio", ("await cancelled(2, lambda: channel.unary_unary('/stock.Stock/Look')(b'lamp'))",)),
    ),
    Known(
        "The same: it may be read in both ways, and waits once more, as it has a task of its own.",
        worlds="grpc|grpc-aio",
        line=r"async for|\.read\(|cancelled\(|^r\d+(\.cancel\(\))?$",
        place="^(value|raises)",
        witness=(
            "grpc-aio",
            ("channel.unary_stream('/stock.Stock/Writes')(b'x')", "await r0.read()", "[each async for each in r0]"),
        ),
    ),
    Known(
        "A wrapper of a method has the object as its own first argument: a call without an object and without all of "
        "the method's other arguments misses that one alone.",
        worlds=".*",
        line=r"\w\(\)$",
        place="^raises/(args/0|text)$",
        bare=r"missing \d required positional arguments: 'self'",
        agent=r"missing 1 required positional argument: 'self'\"?$",
        witness=("kafka-python", ("kafka.KafkaProducer.send()",)),
    ),
    Known(
        "A wrapper of a coroutine function, or of a generator, takes any arguments: a call with wrong ones fails where "
        "it is awaited, and not one step earlier, where it is made.",
        worlds=".*",
        line=r"^(?!await |describe|surface)",
        place="^(value|raises)$",
        # aiohttp's calls have the coroutine in an object of its own
        agent=r"^\{'type': '(builtins\.(coroutine|generator|async_generator)|"
        r"aiohttp\.client\._BaseRequestContextManager)'|^\(nothing\)$",
        witness=("opensearch-async", ("client.transport.perform_request(no_such=1)",)),
    ),
    Known(
        "The same: and a coroutine that is not awaited says so.",
        worlds=".*",
        line="^$",
        place="^warnings",
        agent="was never awaited",
        witness=("opensearch-async", ("client.transport.perform_request(no_such=1)",)),
    ),
    Known(
        "Where a call fails later for one of these reasons, its result is there to be asked, and fails then.",
        worlds=".*",
        line=r"\br\d+\b",
        place="",
        bare="NoneType",
        whole=True,
        witness=("grpc", ("channel.unary_stream('/stock.Stock/Many')(request=-1.5)", "r0.details()")),
    ),
)


def unknown(world: str, differences: Sequence[Difference]) -> list[Difference]:
    """Those that no entry covers."""
    covered = {each for known in KNOWN for each in known.covered(world, differences)}
    return [each for each in differences if each not in covered]
