"""Differences that are known, with the reason for each.

The list is to be short. Each entry has a program that shows it, and a test runs that program: what shows no difference
any more is to be taken out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from differential.comparison import Difference


@dataclass(frozen=True)
class Known:
    """One difference.

    :ivar reason: why it is there
    :ivar worlds: where it is seen, as a regular expression
    :ivar line: of the program, as a regular expression
    :ivar place: in the observation, likewise
    :ivar agent: what is seen there with the agent, likewise
    :ivar witness: a world, and lines that show it
    :ivar whole: whether it is about all places of the line that begin as this one does, up to the end of `place`
    """

    reason: str
    worlds: str
    witness: tuple[str, Sequence[str]]
    line: str = ""
    place: str = ""
    agent: str = ""
    whole: bool = False

    def covers(self, world: str, difference: Difference) -> bool:
        """Whether this is the one."""
        return (
            re.fullmatch(self.worlds, world) is not None
            and re.search(self.line, difference.line) is not None
            and re.search(self.place, difference.place) is not None
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
        "A wrapper is a frame, and `warnings.warn(..., stacklevel=2)` counts frames: the warning is the same, but it "
        "names the wrapper's file.",
        worlds=".*",
        place=r"^warnings/\d+/2$",
        agent="^swagent/",
        witness=("urllib3", ("pool.urlopen('GET', 'nonsense')",)),
    ),
    Known(
        "The request goes on until its body is read or closed, so the server gets an iterator around the body.",
        worlds="flask|django|falcon|bottle|pyramid",
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
        "The middleware is an object whose `__call__` is a coroutine function, whatever the application is.",
        worlds="asgi",
        line="iscoroutinefunction",
        place="^value$",
        agent="^bool True$",
        witness=("asgi", ("asyncio.iscoroutinefunction(asgi(plain).__call__)",)),
    ),
    Known(
        "A scope has a mark with the request's span, so that a second middleware makes none.",
        worlds="asgi",
        place=r"^events/\d+/tuple/0/",
        agent="swagent.span",
        whole=True,
        witness=("asgi", ("await ask(looks)",)),
    ),
    Known(
        "gRPC lets its calls be followed by interceptors, and its channels and calls with one are of other classes.",
        worlds="grpc|grpc-aio",
        place="^(value|raises)",
        agent=r"grpc\.(aio\.)?_interceptor\.",
        whole=True,
        witness=("grpc", ("type(channel)",)),
    ),
    Known(
        "sqlite3 and psycopg2 are written in C, where no method can be replaced: a subclass takes the place of the "
        "class. It has the class's name, and its metaclass says that it is the class.",
        worlds="sqlite3|psycopg2|sqlalchemy.*|aiosqlite",
        place=r"pickle/1$",
        agent=r"subclass\.Meta$",
        witness=("psycopg2", ("type(cursor)",)),
    ),
    Known(
        "The same: a method of such a subclass is one of Python.",
        worlds="sqlite3|psycopg2|sqlalchemy.*|aiosqlite",
        line=r"^describe\(",
        place=r"^value/",
        agent=r"method|psycopg2|sqlite3",
        whole=True,
        witness=("psycopg2", ("describe(cursor.execute)",)),
    ),
    Known(
        "The same: a class that cannot be called from outside fails with a message that has no module.",
        worlds="asyncmy",
        place=r"/pickle$",
        agent="it's not the same object",
        witness=("asyncmy", ("cursor.connection",)),
    ),
    Known(
        "A record is confirmed by the future that the application gets: it has a callback, which its `repr` shows.",
        worlds="aiokafka",
        place=r"/repr$",
        agent=r"<Future .* cb=\[_?\w*delivered",
        witness=("aiokafka", ("await producer.send('orders', b'1')",)),
    ),
    Known(
        "A wrapper of a coroutine function takes any arguments: a call with wrong ones fails where it is awaited, and "
        "not one step earlier, where it is made.",
        worlds=".*",
        line=r"^await spawned\(",
        place="^(value|raises)$",
        agent=r"^\(nothing\)$|builtins\.TypeError",
        witness=("opensearch-async", ("await spawned(lambda: client.transport.perform_request(no_such=1))",)),
    ),
)


def unknown(world: str, differences: Sequence[Difference]) -> list[Difference]:
    """Those that no entry covers."""
    covered = {each for known in KNOWN for each in known.covered(world, differences)}
    return [each for each in differences if each not in covered]
