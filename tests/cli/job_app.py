"""Everything that an application can see of its jobs in other processes, as lines of text.

python job_app.py WAY API
"""

from __future__ import annotations

import functools
import multiprocessing
import os
import pickle
import re
import signal
import sys
import traceback
import types
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.pool import Pool
from typing import Any

import swagent

_prepared: list[str] = []


def prepare(word: str) -> None:
    _prepared.append(word)


def square(number: int) -> int:
    with swagent.local_span(f"inside {number}"):
        return number * number


def join(*words: str, **named: str) -> str:
    return " ".join([*words, *(f"{key}={value}" for key, value in named.items())])


def prepared() -> list[str]:
    return _prepared


def fail(number: int) -> int:
    raise LookupError("nothing there", number)


def unpicklable(_: int) -> Callable[[], None]:
    return lambda: None


def stack(_: int) -> list[str]:
    """The functions that a job is called by, in its own process."""
    names = [frame.name for frame in traceback.extract_stack()]
    return names[names.index("_bootstrap") :]


def handler(_: int) -> str:
    """The handler of the signal that ends the worker, as its job sees it, and the worker's wakeup descriptor."""
    return f"{signal.getsignal(signal.SIGTERM)!r} {signal.set_wakeup_fd(-1)}"


def last(_: int) -> None:
    sys.exit(3)


class Bound:
    def __init__(self, step: int) -> None:
        self.step = step

    def add(self, number: int) -> int:
        return number + self.step

    def __call__(self, number: int) -> int:
        return number * self.step


def run_in_child(self: Any) -> None:
    with swagent.local_span("in run"):
        sys.exit(7)


class SpawnChild(multiprocessing.context.SpawnProcess):
    run = run_in_child


class ForkChild(multiprocessing.context.ForkProcess):
    run = run_in_child


class ForkserverChild(multiprocessing.context.ForkServerProcess):
    run = run_in_child


CHILDREN: dict[str, Any] = {"spawn": SpawnChild, "fork": ForkChild, "forkserver": ForkserverChild}


def outcome(call: Callable[[], Any]) -> str:
    """The outcome of a call, with all that an error says of its origin in the child."""
    try:
        return repr(call())
    except BaseException as error:
        chain: list[str] = []
        each: BaseException | None = error
        while each is not None:
            chain.append(f"{each!r} {getattr(each, '__notes__', '')} {type(each.__cause__).__name__}")
            each = each.__cause__ or each.__context__
        # addresses, and the lines of the parent that call into the library
        return re.sub(r"0x[0-9a-f]+", "0x", "\n  ".join(chain)) + text_of(error)


def text_of(error: BaseException) -> str:
    """A traceback that came as text."""
    return str(error.__cause__) if type(error.__cause__).__name__.endswith("RemoteTraceback") else ""


def numbers(stop: int) -> Iterator[int]:
    """An iterable without a length, which fails at its end."""
    yield from range(stop)
    raise ArithmeticError("no more numbers")


def of_pool(pool: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    heard: list[Any] = []
    yield "map", lambda: pool.map(square, range(9), chunksize=4)
    yield "map of nothing", lambda: pool.map(square, [])
    yield "starmap", lambda: pool.starmap(pow, [(2, 3), (3, 2)])
    yield "starmap_async", lambda: pool.starmap_async(join, [("a", "b")]).get()
    yield "imap", lambda: list(pool.imap(square, range(5)))
    yield "imap in chunks", lambda: list(pool.imap(square, range(5), chunksize=2))
    yield "imap_unordered", lambda: sorted(pool.imap_unordered(square, range(5)))
    yield "imap of what fails", lambda: list(pool.imap(square, numbers(2)))
    yield "imap, one by one", lambda: pool.imap(square, range(3)).next(30)
    yield "apply", lambda: pool.apply(join, ("a", "b"))
    yield "apply with names", lambda: pool.apply(join, ("a",), {"b": "c", "d": "e"})
    yield "apply by name", lambda: pool.apply(func=join, args=["a"], kwds={})
    yield "apply with a mapping", lambda: pool.apply(join, (), types.MappingProxyType({}))
    yield "apply without keywords", lambda: pool.apply(join, (), None)
    yield "apply_async", lambda: pool.apply_async(square, (4,), callback=heard.append).get()
    yield "callback", lambda: heard
    yield "a partial", lambda: pool.apply(functools.partial(square, 5))
    yield "a method", lambda: pool.map(Bound(3).add, [1, 2])
    yield "an object", lambda: pool.map(Bound(3), [1, 2])
    yield "a builtin", lambda: pool.map(len, ["a", "bc"])
    yield "fails", lambda: pool.map(fail, [1])
    yield "apply fails", lambda: pool.apply(fail, (1,))
    yield "error callback", lambda: pool.apply_async(fail, (1,), error_callback=heard.append).get()
    yield "result without pickle", lambda: pool.apply(unpicklable, (1,))
    yield "task without pickle", lambda: pool.apply(lambda: None)
    yield "argument without pickle", lambda: pool.apply(join, (lambda: None,))
    yield "named argument without pickle", lambda: pool.apply(join, (), {"x": lambda: None})
    yield "map without pickle", lambda: pool.map(square, [lambda: None])
    yield "keywords that are none", lambda: pool.apply(join, (), {1: 2})
    yield "stack", lambda: pool.apply(stack, (1,))
    yield "handler", lambda: pool.apply(handler, (1,))
    yield "initializer", lambda: pool.apply(prepared)
    yield "pool in a task", lambda: pool.apply(len, (pool,))
    yield "wrong call", lambda: pool.apply_async()
    yield "many", lambda: pool.map(square, range(50), 1) == [n * n for n in range(50)]


def of_executor(pool: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    yield "map", lambda: list(pool.map(square, range(9), chunksize=4))
    yield "map of two", lambda: list(pool.map(pow, [2, 3], [3, 2]))
    yield "submit", lambda: pool.submit(square, 4).result()
    yield "submit with names", lambda: pool.submit(join, "a", fn="b", self="c").result()
    yield "a partial", lambda: pool.submit(functools.partial(square, 5)).result()
    yield "a method", lambda: list(pool.map(Bound(3).add, [1, 2]))
    yield "an object", lambda: pool.submit(Bound(3), 2).result()
    yield "fails", lambda: pool.submit(fail, 1).result()
    yield "map fails", lambda: list(pool.map(fail, [1]))
    yield "result without pickle", lambda: pool.submit(unpicklable, 1).result()
    yield "task without pickle", lambda: pool.submit(lambda: None).result()
    yield "argument without pickle", lambda: pool.submit(join, lambda: None).result()
    yield "stack", lambda: pool.submit(stack, 1).result()
    yield "handler", lambda: pool.submit(handler, 1).result()
    yield "initializer", lambda: pool.submit(prepared).result()
    yield "exits", lambda: pool.submit(last, 1).result()
    yield "wrong call", lambda: pool.submit()
    yield "many", lambda: list(pool.map(square, range(50))) == [n * n for n in range(50)]


def of_process(context: Any, way: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    def run(process: Any) -> Any:
        before = sorted(vars(process).keys() - {"_target", "_args", "_kwargs"})
        process.start()
        process.join()
        return process.exitcode, sorted(vars(process).keys() - {*before})

    def end(process: Any) -> Any:
        process.start()
        process.terminate()
        process.join()
        return process.exitcode

    yield "a target", lambda: run(context.Process(target=square, args=(2,)))
    yield "no target", lambda: run(context.Process())
    yield "fails", lambda: run(context.Process(target=fail, args=(2,)))
    yield "exits", lambda: run(context.Process(target=last, args=(2,)))
    yield "a class", lambda: run(CHILDREN[way]())
    yield "daemon", lambda: run(context.Process(target=square, args=(2,), daemon=True))
    yield "terminated", lambda: end(context.Process(target=signal.pause))
    yield "a name", lambda: context.Process(target=square, name="x").name
    yield "run here", lambda: context.Process(target=_prepared.append, args=("here",)).run()
    yield "ran here", lambda: _prepared
    yield "twice", lambda: twice(context.Process(target=square, args=(2,)))
    if way != "fork":
        yield "without pickle", lambda: run(context.Process(target=lambda: None))


def twice(process: Any) -> None:
    process.start()
    process.join()
    process.start()


def main() -> None:
    way, api = sys.argv[1:]
    context: Any = multiprocessing.get_context(way)
    options: dict[str, Any] = {"initializer": prepare, "initargs": ("ready",)}
    with swagent.entry_span("request"):
        if api == "pool":
            with context.Pool(2, **options) as pool:
                show(of_pool(pool))
                workers = list(pool._pool)
            # one that has seen the end of its tasks before the signal ends by itself
            print("exit codes", {worker.exitcode for worker in workers} <= {0, -signal.SIGTERM})
            with context.Pool(1, maxtasksperchild=2) as pool:
                print("renewed", len({pool.apply(os.getpid) for _ in range(6)}))
                pool.close()
                pool.join()
        elif api == "executor":
            with ProcessPoolExecutor(2, context, **options) as pool:
                show(of_executor(pool))
        else:
            show(of_process(context, way))
    pool_class: Any = Pool
    print("pickled", pickle.dumps([multiprocessing.process.BaseProcess.start, Pool.map, pool_class._handle_tasks]))


def show(calls: Iterator[tuple[str, Callable[[], Any]]]) -> None:
    for name, call in calls:
        print(f"{name}: {outcome(call)}", flush=True)


if __name__ == "__main__":
    main()
