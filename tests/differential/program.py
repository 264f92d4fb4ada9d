"""Programs as data: a world says which calls there are, and a seed draws lines of Python from them.

A program is text, so that a failing one can be read, and run by hand. Its lines run one after the other in one
namespace. Each outcome is looked at, and an error ends its line alone.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

# The expressions that replace an argument that the function expects, now and then.
ODD = ("None", "17", "-1.5", "b'x'", "''", "object()", "[]", "{}", "Odd()", "'é\\ud800'", "lambda *a: a")
_OPTIONAL = 0.3
_ODD = 0.06
_MISSING = 0.04
_UNKNOWN = 0.03
_TWICE = 0.02
_BESIDE = 0.02


@dataclass(frozen=True)
class Call:
    """A call that a program may make.

    :ivar path: as it is written, such as `client.get` or `await client.get`
    :ivar arguments: expressions for each parameter, in the order of the signature
    :ivar required: how many of the parameters the call cannot do without
    :ivar positional: how many of them may be given by position
    :ivar rest: expressions for further arguments by position
    :ivar follow: lines about the result, which is `{}` in them
    :ivar weight: how often it is drawn, beside others
    """

    path: str
    arguments: Mapping[str, Sequence[str]] = field(default_factory=dict)
    required: int = 0
    positional: int = 0
    rest: Sequence[str] = ()
    follow: Sequence[str] = ()
    weight: int = 1

    @property
    def is_awaited(self) -> bool:
        return self.path.startswith("await ")

    @property
    def function(self) -> str:
        return self.path.removeprefix("await ")


@dataclass(frozen=True)
class Line:
    """A line that is always written like this."""

    text: str
    weight: int = 1
    follow: Sequence[str] = ()


@dataclass(frozen=True)
class World:
    """One library: how a program reaches it, and what it may do with it.

    :ivar modules: what has to be importable; without it there is no such world
    :ivar setup: runs first; `enter`, `aenter` and `at_end` close things at the end of the program
    :ivar peers: which servers have to be there, see `peers`
    :ivar loops: where it runs; empty: without a loop
    :ivar records: whether the agent records anything of it by itself
    :ivar leaves: threads of its own end at some time after it was closed, so what is left is not compared
    :ivar length: how many calls a program makes at most
    """

    name: str
    modules: Sequence[str]
    setup: str
    calls: Sequence[Call | Line]
    peers: Sequence[str] = ()
    loops: Sequence[str] = ()
    records: bool = True
    length: int = 6
    leaves: bool = False

    @property
    def steps(self) -> int:
        """How often something may wait before it is cancelled. How often it waits for a server is up to the network,
        but for the first time."""
        return 1 if self.peers else 8

    @property
    def source(self) -> str:
        return textwrap.dedent(self.setup).strip() + "\n"


@dataclass(frozen=True)
class Program:
    """The program that both sides run.

    :ivar is_inside: whether a span is active around it
    :ivar lines: a name for the outcome, and the expression
    """

    world: str
    seed: int
    loop: str
    is_inside: bool
    lines: tuple[tuple[str, str], ...]

    def with_lines(self, lines: Sequence[tuple[str, str]]) -> Program:
        return replace(self, lines=tuple(lines))

    def __str__(self) -> str:
        return "\n".join(f"{name} = {text}" for name, text in self.lines)


def choices(text: str) -> tuple[str, ...]:
    """The expressions of a text, with ` | ` between them."""
    return tuple(text.split(" | "))


def lines(text: str) -> Iterator[Line]:
    """Each of a text's expressions as a line."""
    return map(Line, choices(text))


_HEAD = re.compile(r"(.+?)(?: (\d+)(?:/(\d+))?)?(?: x(\d+))?")
_NEXT = re.compile(r"; (?=(?:\*|\w+) = )")


def call(head: str, parameters: str = "", /, **more: Any) -> Call:
    """A call, tersely.

    :param head: `PATH [REQUIRED[/POSITIONAL]] [xWEIGHT]`; without `POSITIONAL` all may be given by position
    :param parameters: `NAME = CHOICES; NAME = CHOICES ...`; `*` is the name of further arguments by position
    :param more: further parameters, with their choices; `_rest` and `_follow` are the call's own
    """
    matched = _HEAD.fullmatch(head)
    assert matched is not None
    path, required, positional, weight = matched.groups()
    said = dict(each.split(" = ", 1) for each in _NEXT.split(parameters) if each)
    rest, follow = more.pop("_rest", said.pop("*", ())), more.pop("_follow", ())
    arguments = {name: _listed(value) for name, value in {**said, **more}.items()}
    most = len(arguments) if positional is None else int(positional)
    return Call(path, arguments, int(required or 0), most, _listed(rest), _listed(follow), int(weight or 1))


def _listed(value: str | Sequence[str]) -> tuple[str, ...]:
    return choices(value) if isinstance(value, str) else tuple(value)


def draw(world: World, seed: int) -> Program:
    """The program of this seed, always the same."""
    dice = Random(f"{world.name}/{seed}")
    lines: list[tuple[str, str]] = []
    weights = [each.weight for each in world.calls]
    for _ in range(dice.randint(1, world.length)):
        (chosen,) = dice.choices(world.calls, weights)
        name = f"r{len(lines)}"
        lines.append((name, chosen.text if isinstance(chosen, Line) else _written(chosen, dice, world.steps)))
        if not lines[-1][1].startswith("describe("):
            for follow in dice.sample(list(chosen.follow), min(dice.randint(0, 4), len(chosen.follow))):
                lines.append((f"r{len(lines)}", follow.replace("{}", name)))
    loop = dice.choice(world.loops) if world.loops else ""
    return Program(world.name, seed, loop, dice.random() < 0.7, tuple(lines))


def _written(chosen: Call, dice: Random, most: int) -> str:
    if dice.random() < 0.06:
        return f"describe({chosen.function})"
    text = f"{chosen.function}({', '.join(_arguments(chosen, dice))})"
    if not chosen.is_awaited:
        return dice.choices((text, f"in_thread(lambda: {text})", f"in_pool(lambda: {text})"), (88, 6, 6))[0]
    steps = dice.randint(1, most)
    forms = (f"await {text}", f"await cancelled({steps}, lambda: {text})", f"await spawned(lambda: {text})", text)
    return dice.choices(forms, (73, 18, 6, 3))[0]


def _arguments(chosen: Call, dice: Random) -> Iterator[str]:
    given = {
        name: dice.choice(ODD if dice.random() < _ODD else values)
        for index, (name, values) in enumerate(chosen.arguments.items())
        if dice.random() < ((1 - _MISSING) if index < chosen.required else _OPTIONAL)
    }
    names = list(chosen.arguments)
    # by position goes what has everything before it
    full = next((index for index, name in enumerate(names) if name not in given), len(names))
    by_position = dice.randint(0, min(full, chosen.positional))
    if chosen.rest and full >= chosen.positional:
        by_position = chosen.positional
    yield from (given[name] for name in names[:by_position])
    if chosen.rest and by_position == chosen.positional:
        yield from dice.choices(chosen.rest, k=dice.randint(0, 3))
    if by_position == len(names) and not chosen.rest and dice.random() < _BESIDE:
        yield dice.choice(ODD)
    by_name = names[by_position:] + (names[:1] if by_position and dice.random() < _TWICE else [])
    yield from (f"{name}={given[name]}" for name in by_name if name in given)
    if dice.random() < _UNKNOWN:
        yield "no_such=1"
