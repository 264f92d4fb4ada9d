"""All functions that the agent replaces: each takes every call that the original takes, and looks like it.

A stub with the original's signature takes the original's place. It is called as it is, and with the wrapper around it,
in the forms that the signature allows; what arrives, what comes back and what is raised must be the same objects. That
is done with arguments that the wrapper can do nothing with, and with some that let it do all its work.
"""

from __future__ import annotations

import asyncio
import inspect
import pickle
from collections.abc import Iterator
from contextvars import copy_context
from types import ModuleType
from typing import Any

import pytest

from record.recorded import recording
from swagent import exit_span, local_span
from swagent.instrument.libraries.servers import aiohttp_server

from .call_forms import Calls, Form, Kind, drive, forms_of, names_of, same, stub_of
from .patched import AGENT, Found, Replaced, all_replaced


class Opaque:
    """An argument that a wrapper can do nothing with: without attributes, and none can be set."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "name", name)

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("__"):
            return object.__getattribute__(self, name)
        raise AttributeError(name)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(name)

    def __hash__(self) -> int:
        raise TypeError("unhashable")

    def __repr__(self) -> str:
        return f"<{object.__getattribute__(self, 'name')}>"


class Lively:
    """An argument that a wrapper can do everything with: whatever is asked of it is one more."""

    def __init__(self, name: str) -> None:
        self.name = name
        # what a client remembers of its connection
        self._swagent_broker = "broker:9092"

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("__", "_swagent_")):
            raise AttributeError(name)
        return Lively(f"{self.name}.{name}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return Lively(f"{self.name}()")

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, int) and key > 3:
            raise IndexError(key)
        return Lively(f"{self.name}[{key!r}]")

    def __setitem__(self, key: Any, value: Any) -> None:
        return None

    def __contains__(self, key: Any) -> bool:
        return False

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        return True

    def __str__(self) -> str:
        return "lively"

    def __add__(self, other: Any) -> Any:
        return self

    __radd__ = __add__

    def __lt__(self, other: Any) -> bool:
        return False

    __gt__ = __ge__ = __le__ = __lt__


SIGNATURES = {
    # of functions of C, which say none
    "sqlite3: sqlite3.connect": "database, timeout=5.0, detect_types=0, isolation_level='', check_same_thread=True, "
    "factory=None, cached_statements=128, uri=False",
    "confluent-kafka: Producer.produce": "self, /, topic, value=None, key=None, partition=-1, callback=None, "
    "on_delivery=None, timestamp=0, headers=None",
    "confluent-kafka: Consumer.poll": "self, /, timeout=-1",
    "confluent-kafka: Consumer.consume": "self, /, num_messages=1, timeout=-1",
    "confluent-kafka: Consumer.close": "self, /",
}
_POSIX_SPAWN = (
    "path, argv, env, /, *, file_actions=(), setpgroup=None, resetids=False, setsid=False, setsigmask=(), "
    "setsigdef=(), scheduler=None"
)
SIGNATURES |= dict.fromkeys((f"the agent: os.posix_spawn{kind}" for kind in ("", "p")), _POSIX_SPAWN)
SIGNATURES["sqlite3: sqlite3.dbapi2.connect"] = SIGNATURES["sqlite3: sqlite3.connect"]
_CARRIES = "it carries the context"
_RECORDS = "the application that is served, or the function that is called back, records"
# Of a base class, and replaced in a subclass alone: pickle looks for it there.
AT_HOME = {"multiprocessing: _SafeQueue.put"}
# Likewise, and pickle looks for it in the base class, where the original is.
IN_BASE = {"the agent: WSGIHandler.resolve_request", "the agent: ASGIHandler.resolve_request"}
# The class has the original by its other name, too, and pickle looks for it there.
IN_BASE |= {"amqp: Channel.basic_publish"}
# The changes that a wrapper makes on purpose.
REWRITTEN: dict[str, dict[str, str]] = {
    "aiokafka: AIOKafkaProducer.send": {"headers": _CARRIES},
    "aiormq: Channel.basic_consume": {"consumer_callback": _RECORDS},
    "aiormq: Channel.basic_publish": {"properties": _CARRIES},
    "aiosqlite: Connection._execute": {"fn": "it runs in the caller's context"},
    "amqp: Channel.basic_consume": {"callback": _RECORDS},
    "amqp: Channel.basic_publish": {"msg": _CARRIES},
    "amqp: Channel.basic_publish_confirm": {"args": _CARRIES},
    "arq: arq.connections.serialize_job": {"serializer": _CARRIES},
    "arq: arq.worker.deserialize_job_raw": {"deserializer": "it remembers the context that a job came with"},
    "confluent-kafka: Producer.produce": {"headers": _CARRIES, "on_delivery": _RECORDS, "callback": _RECORDS},
    "confluent-kafka: SerializingProducer.produce": {"headers": _CARRIES, "on_delivery": _RECORDS},
    "daphne: Server.__init__": {"application": _RECORDS},
    "dramatiq: Message.encode": {"self": _CARRIES},
    "granian: LifespanProtocol.__init__": {"callable": _RECORDS},
    **{f"granian: granian.server.{way}._{kind}_call_wrap": {"callback": _RECORDS}
       for way in ("mp", "mt") for kind in ("asgi", "rsgi", "wsgi")},
    "grpc: grpc.aio.insecure_channel": {"interceptors": "ours is the last"},
    "grpc: grpc.aio.secure_channel": {"interceptors": "ours is the last"},
    "grpc: grpc.aio.server": {"interceptors": "ours is the first"},
    "grpc: grpc.server": {"interceptors": "ours is the first"},
    "hypercorn: ASGIWrapper.__init__": {"app": _RECORDS},
    "hypercorn: WSGIWrapper.__init__": {"app": _RECORDS},
    "kafka-python: KafkaProducer.send": {"headers": _CARRIES},
    "multiprocessing: Pool._handle_tasks": {"taskqueue": _CARRIES},
    "pika: BlockingChannel.basic_consume": {"on_message_callback": _RECORDS},
    "pika: Channel.basic_consume": {"on_message_callback": _RECORDS},
    "pika: Channel.basic_publish": {"properties": _CARRIES},
    "psycopg2: psycopg2.connect": {"connection_factory": "the class in place of the driver's"},
    "pulsar: Client.create_reader": {"reader_listener": _RECORDS},
    "pulsar: Client.subscribe": {"message_listener": _RECORDS},
    "pulsar: Producer.send": {"properties": _CARRIES},
    "pulsar: Producer.send_async": {"properties": _CARRIES, "callback": _RECORDS},
    "sqlite3: sqlite3.connect": {"factory": "the class in place of the module's"},
    "sqlite3: sqlite3.dbapi2.connect": {"factory": "the class in place of the module's"},
    "the agent: ThreadPoolExecutor.submit": {"fn": "it runs in the caller's context"},
    "urllib3: HTTPConnectionPool.urlopen": {"headers": _CARRIES},
    "wsgiref: WSGIServer.set_app": {"application": _RECORDS},
}  # fmt: skip
# gRPC knows interceptors as a channel around the channel, and both are its `Channel`.
OTHER_RESULT = {"grpc: grpc.insecure_channel", "grpc: grpc.secure_channel"}
_MODES: dict[str, Any] = {"that nothing is known of": Opaque, "that is recorded": Lively, "within a call": Lively}
WITHOUT_FUNCTIONS = {
    "loguru": "it only lets a running capture know that loguru is there",
}


@pytest.fixture(scope="module")
def found() -> Iterator[Found]:
    with all_replaced() as found:
        yield found


@pytest.fixture(autouse=True)
def without_agents(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that starts would start one."""
    monkeypatch.setattr(aiohttp_server, "adopt", lambda _: Lively("agent"))


def _functions(found: Found) -> Iterator[tuple[Replaced, Any, Any]]:
    """The replaced things that are no classes: with the functions themselves, out of their decorators."""
    for each in found.replaced:
        if not isinstance(each.before, type):
            yield each, _bare(each.before), _bare(each.after)


def _bare(function: Any) -> Any:
    return function.__func__ if isinstance(function, (staticmethod, classmethod)) else function


def _signature_of(each: Replaced, function: Any) -> inspect.Signature:
    written = SIGNATURES.get(each.id)
    if written is None:
        return inspect.signature(function)
    namespace: dict[str, Any] = {}
    exec(f"def written({written}): ...", namespace)
    return inspect.signature(namespace["written"])


@pytest.mark.gate
def test_every_instrumentation_replaces_something(found: Found) -> None:
    print(*(f"{count:4} {name}" for name, count in found.counts.items()), sep="\n")
    print(f"{len(found.replaced)} functions and classes")
    nothing = {name for name, count in found.counts.items() if not count}
    assert nothing == set(WITHOUT_FUNCTIONS) & set(found.counts)
    assert found.counts[AGENT] >= 4 + 4 + 3
    assert len(found.replaced) > 5 * len(found.counts) / 2


def test_a_class_stays_a_class(found: Found) -> None:
    assert not [each.id for each in found.replaced if isinstance(each.before, type) != isinstance(each.after, type)]


def test_they_look_like_the_originals(found: Found) -> None:
    different: list[str] = []
    for each, before, after in _functions(found):
        of_class = getattr(before, "__objclass__", each.owner)
        # functions of C have fewer attributes
        unsaid: dict[str, Any] = {"__module__": getattr(of_class, "__module__", None), "__annotations__": {}}
        different.extend(
            f"{each.id} {attribute}: {getattr(after, attribute, None)!r}"
            for attribute in ("__name__", "__qualname__", "__module__", "__doc__", "__annotations__")
            if (hasattr(before, attribute) or hasattr(after, attribute))
            and getattr(before, attribute, unsaid.get(attribute)) != getattr(after, attribute, None)
            and not (each.id in AT_HOME and attribute in ("__qualname__", "__module__"))
        )
        if Kind.of(before) != Kind.of(after):
            different.append(f"{each.id}: {Kind.of(before)} -> {Kind.of(after)}")
        if asyncio.iscoroutinefunction(before) != asyncio.iscoroutinefunction(after):
            different.append(f"{each.id}: asyncio.iscoroutinefunction")
        if type(each.before) in (staticmethod, classmethod) and type(each.before) is not type(each.after):
            different.append(f"{each.id}: {type(each.after)}")
        if _recorded_signature(before) != _recorded_signature(after):
            different.append(f"{each.id}: {_recorded_signature(before)} -> {_recorded_signature(after)}")
    assert not different, "\n".join(different)


def _recorded_signature(function: Any) -> object:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError) as error:
        return type(error)


def test_they_are_pickled_as_the_originals(found: Found) -> None:
    different: list[str] = []
    for each in found.replaced:
        before, after = _bare(each.before), _bare(each.after)
        if each.id in IN_BASE or not _is_pickled(before, each, before):
            continue
        if not _is_pickled(after, each, after):
            different.append(each.id)
    assert not different, "\n".join(different)


def _is_pickled(function: Any, each: Replaced, expected: Any) -> bool:
    """Whether it can be, where it is in its owner."""
    now = inspect.getattr_static(each.owner, each.name)
    own = each.name in vars(each.owner)
    setattr(each.owner, each.name, each.before if function is _bare(each.before) else each.after)
    try:
        return pickle.loads(pickle.dumps(function)) is expected
    except (pickle.PicklingError, AttributeError, ImportError):
        return False
    finally:
        setattr(each.owner, each.name, now) if own else delattr(each.owner, each.name)


@pytest.mark.gate
@pytest.mark.timeout(300)
def test_every_call_arrives_as_it_was_made(found: Found) -> None:
    different: list[str] = []
    rewritten: set[tuple[str, str]] = set()
    for mode, kind in _MODES.items():
        calls_made = 0
        with recording() as recorder:
            for each, before, _ in _functions(found):
                signature = _signature_of(each, before)
                direct, wrapped, calls = _pair(each, before, signature)
                for form in forms_of(signature, kind, names_of(wrapped)):
                    calls_made += 1
                    problem, changed = copy_context().run(_compare, mode, each.id, direct, wrapped, calls, form)
                    rewritten.update((each.id, name) for name in changed)
                    if problem:
                        different.append(f"{each.id}{_shown(form)} {mode}: {problem}")
        spans = sum(len(segment.spans) - 1 for segment in recorder.segments)
        print(f"{calls_made} calls {mode}, {spans} spans")
        assert calls_made > 3 * len(found.replaced)
        # within a call is no other one
        assert spans > 200 or mode != "that is recorded"
    assert not different, f"{len(different)}\n" + "\n".join(different[:1000])
    listed = {(function, name) for function, names in REWRITTEN.items() for name in names}
    assert rewritten >= {each for each in listed if each[0] in {each.id for each in found.replaced}}


def _pair(each: Replaced, before: Any, signature: inspect.Signature) -> tuple[Any, Any, Calls]:
    """A stub in the original's place: as it is, and with the wrapper around it."""
    calls = Calls()
    stub = stub_of(before, signature, calls)
    owner: Any = type(each.owner.__name__, (), {}) if each.is_of_class else ModuleType(each.owner.__name__)
    assert each.wrap is not None
    wrapped = _bare(each.wrap(owner, each.name, stub))
    return stub, wrapped, calls


def _compare(mode: str, function: str, direct: Any, wrapped: Any, calls: Calls, form: Form) -> tuple[str, list[str]]:
    """The difference between two calls, and the parameters that were rewritten on purpose."""
    kind = _MODES[mode]
    calls.arrived.clear()
    calls.result, calls.error = kind("result"), None
    assert drive(direct, form) is calls.result
    [expected] = calls.arrived
    calls.arrived.clear()
    try:
        with exit_span("call", "there:80") if mode == "within a call" else local_span("job"):
            result = drive(wrapped, form)
    except BaseException as error:
        return f"raises {error!r}", []
    if not calls.arrived:
        return "nothing arrived", []
    if len(calls.arrived) > 1:
        return "arrived twice", []
    changed = same(expected, calls.arrived[0])
    others = [name for name in changed if name not in REWRITTEN.get(function, {})]
    if others:
        return "something else arrived for " + ", ".join(others), changed
    is_other = result is not calls.result and not (kind is Lively and function in OTHER_RESULT)
    return ("another result" if is_other else ""), changed


def _shown(form: Form) -> str:
    return f"({', '.join([*map(repr, map(_name, form.args)), *(f'{name}=' for name in form.kwargs)])})"


def _name(value: Any) -> str:
    return str(object.__getattribute__(value, "name"))


@pytest.mark.gate
@pytest.mark.parametrize("is_recorded", [False, True], ids=["opaque", "recorded"])
def test_an_exception_is_the_one_of_the_original(found: Found, is_recorded: bool) -> None:
    different: list[str] = []
    kinds = Lively if is_recorded else Opaque
    with recording():
        for each, before, _ in _functions(found):
            signature = _signature_of(each, before)
            _, wrapped, calls = _pair(each, before, signature)
            for error in (KeyError("theirs"), KeyboardInterrupt()):
                calls.error = error
                form = next(iter(forms_of(signature, kinds)))
                with pytest.raises(BaseException) as caught:
                    drive(wrapped, form)
                if caught.value is not error:
                    different.append(f"{each.id}: {caught.value!r}")
                elif error.__context__ is not None or error.__cause__ is not None:
                    different.append(f"{each.id}: {error.__context__!r}")
    assert not different, "\n".join(different)
