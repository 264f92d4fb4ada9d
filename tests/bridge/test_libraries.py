"""Real OpenTelemetry instrumentations on their real libraries: those that swagent has no native one for.

Their packages are an extra of their own (`test-bridge`), so that the quick tests need none of them.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from socketserver import BaseServer, StreamRequestHandler, ThreadingTCPServer
from types import ModuleType
from typing import Any

import pytest

from instrument.trees import trees
from record.recorded import Recorder
from swagent import entry_span, local_span
from swagent.opentelemetry import install, report, uninstall
from swagent.opentelemetry.instrumentors import BridgeState

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

SwitchOn = Callable[..., Any]


@pytest.fixture
def switch_on() -> SwitchOn:
    """Switches on one instrumentation and none of the others, and imports its library after that, as an application
    does."""

    def switch(name: str, module: str) -> Any:
        pytest.importorskip("opentelemetry.instrumentation")
        pytest.importorskip(module)
        known = {each.name for each in report()}
        if name not in known:
            pytest.skip(f"opentelemetry-instrumentation-{name} is not installed")
        install(covered=known - {name})
        assert {each.name: each.state for each in report()}[name] is BridgeState.ACTIVE
        return import_module(module)

    return switch


@contextmanager
def served(server: BaseServer) -> Iterator[str]:
    """The address of a server on loopback."""
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        address: Any = server.server_address
        yield f"{address[0]}:{address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class JsonHandler(BaseHTTPRequestHandler):
    """Answers what the test's function says."""

    protocol_version = "HTTP/1.1"
    answers: Callable[[str, dict[str, Any]], dict[str, Any]]

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])) or b"{}")
        body = json.dumps(type(self).answers(self.headers.get("X-Amz-Target", self.path), asked)).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def _json_server(answers: Callable[[str, dict[str, Any]], dict[str, Any]]) -> ThreadingHTTPServer:
    handler = type("Handler", (JsonHandler,), {"answers": staticmethod(answers)})
    return ThreadingHTTPServer(("127.0.0.1", 0), handler)


def test_sqlite3(recorder: Recorder, switch_on: SwitchOn) -> None:
    switch_on("sqlite3", "sqlite3")
    with entry_span("job"):
        connection = sqlite3.connect(":memory:")
        cursor = connection.cursor()
        cursor.execute("create table orders (name text)")
        cursor.executemany("insert into orders values (?)", [("secret",)])
        with pytest.raises(sqlite3.OperationalError):
            cursor.execute("select secret from nowhere")
        connection.close()
    assert trees(recorder) == (
        "Entry job\n"
        "  Exit CREATE UNKNOWN/DATABASE sqlite db.type=sqlite db.operation=CREATE\n"
        "  Exit INSERT UNKNOWN/DATABASE sqlite db.type=sqlite db.operation=INSERT\n"
        "  Exit SELECT UNKNOWN/DATABASE sqlite db.type=sqlite db.operation=SELECT FAILED"
    )


def test_jinja2(recorder: Recorder, switch_on: SwitchOn) -> None:
    jinja2 = switch_on("jinja2", "jinja2")
    with entry_span("GET:/cart"):
        environment = jinja2.Environment(loader=jinja2.DictLoader({"cart.html": "{{ items }}"}), autoescape=True)
        assert environment.get_template("cart.html").render(items=3) == "3"
    assert trees(recorder) == (
        "Entry GET:/cart\n"
        "  Local jinja2.load jinja2.template_name=cart.html jinja2.template_path=<template>\n"
        "    Local jinja2.compile jinja2.template_name=cart.html\n"
        "  Local jinja2.render jinja2.template_name=cart.html"
    )


def test_click(recorder: Recorder, switch_on: SwitchOn) -> None:
    click = switch_on("click", "click")
    testing = import_module("click.testing")

    def bill(password: str) -> None:
        with local_span("inside"):
            click.echo(password)

    command = click.command()(click.option("--password")(bill))
    assert testing.CliRunner().invoke(command, ["--password", "secret"]).output == "secret\n"
    assert trees(recorder) == "Local bill process.exit.code=0\n  Local inside"


class Memcached(StreamRequestHandler):
    """As much of memcached as a client needs to set and get."""

    def handle(self) -> None:
        while line := self.rfile.readline():
            if line.startswith(b"set"):
                self.rfile.readline()
                self.wfile.write(b"STORED\r\n")
            else:
                self.wfile.write(b"VALUE key 0 5\r\nvalue\r\nEND\r\n")


def test_pymemcache(recorder: Recorder, switch_on: SwitchOn) -> None:
    switch_on("pymemcache", "pymemcache")
    base = import_module("pymemcache.client.base")
    server = ThreadingTCPServer(("127.0.0.1", 0), Memcached)
    server.daemon_threads = True
    with served(server) as address:
        client = base.Client(address)
        with entry_span("job"):
            client.set("key", "secret", noreply=False)
            assert client.get("key") == b"value"
        client.close()
    assert trees(recorder) == (
        "Entry job\n"
        f"  Exit set UNKNOWN/CACHE {address} cache.type=memcached cache.cmd=SET cache.op=write\n"
        f"  Exit get UNKNOWN/CACHE {address} cache.type=memcached cache.cmd=GET cache.op=read"
    )


def _aws(target: str, asked: dict[str, Any]) -> dict[str, Any]:
    if target.endswith("SendMessage"):
        QUEUE.append(asked)
        return {"MessageId": "1", "MD5OfMessageBody": hashlib.md5(asked["MessageBody"].encode()).hexdigest()}
    if target.endswith("ReceiveMessage"):
        messages = [
            {
                "MessageId": "1",
                "ReceiptHandle": "handle",
                "Body": each["MessageBody"],
                "MD5OfBody": hashlib.md5(each["MessageBody"].encode()).hexdigest(),
                "MessageAttributes": each["MessageAttributes"],
            }
            for each in QUEUE
        ]
        return {"Messages": messages}
    return {}


QUEUE: list[dict[str, Any]] = []
CREDENTIALS = {"region_name": "eu-west-1", "aws_access_key_id": "id", "aws_secret_access_key": "key"}


def test_botocore(recorder: Recorder, switch_on: SwitchOn) -> None:
    switch_on("botocore", "botocore")
    session = import_module("botocore.session").get_session()
    with served(_json_server(_aws)) as address:
        credentials = {**CREDENTIALS, "endpoint_url": f"http://{address}"}
        client = session.create_client("dynamodb", **credentials)
        with entry_span("job"):
            client.put_item(TableName="orders", Item={"id": {"S": "secret"}})
        client.close()
    assert trees(recorder) == (
        "Entry job\n"
        f"  Exit DynamoDB.PutItem UNKNOWN/DATABASE {address} rpc.service=DynamoDB rpc.method=PutItem "
        "cloud.region=eu-west-1 db.type=dynamodb db.operation=PutItem aws.dynamodb.table_names=orders "
        "retry_attempts=0 http.status_code=200"
    )


def test_boto3sqs(recorder: Recorder, switch_on: SwitchOn) -> None:
    boto3 = switch_on("boto3", "boto3")
    QUEUE.clear()
    with served(_json_server(_aws)) as address:
        client = boto3.client("sqs", endpoint_url=f"http://{address}", **CREDENTIALS)
        queue = f"http://{address}/1/orders"
        with entry_span("job"):
            client.send_message(QueueUrl=queue, MessageBody="secret")
        for message in client.receive_message(QueueUrl=queue)["Messages"]:
            with local_span("work"):
                pass
            client.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
        client.close()
    assert trees(recorder) == (
        "Entry job\n"
        f"  Exit orders send UNKNOWN/MQ {address} mq.queue=orders mq.broker={address}\n"
        f"Entry orders receive UNKNOWN/MQ {address} messaging.operation=receive mq.queue=orders mq.broker={address}\n"
        f"Entry orders process UNKNOWN/MQ {address} messaging.operation=process mq.queue=orders mq.broker={address}\n"
        "  Local work"
    )
    sent, processed = recorder.of("orders send"), recorder.of("orders process")
    assert processed.trace_id == sent.trace_id
    assert recorder.span("orders process").refs[0].segment_id == sent.id


def test_tortoiseorm(recorder: Recorder, switch_on: SwitchOn) -> None:
    pytest.importorskip("aiosqlite")
    tortoise = switch_on("tortoiseorm", "tortoise")
    fields = import_module("tortoise.fields")
    models = ModuleType("swagent_tested_models")
    sys.modules[models.__name__] = models
    attributes = {"__module__": models.__name__, "id": fields.IntField(primary_key=True), "name": fields.TextField()}
    order: Any = type("Order", (import_module("tortoise.models").Model,), attributes)
    vars(models)["Order"] = order

    async def work() -> None:
        await tortoise.Tortoise.init(db_url="sqlite://:memory:", modules={"models": [models.__name__]})
        await tortoise.Tortoise.generate_schemas()
        with entry_span("job"):
            await order.create(name="secret")
            await order.filter(name="secret").all()
        await tortoise.Tortoise.close_connections()

    try:
        asyncio.run(work())
    finally:
        del sys.modules[models.__name__]
    (job,) = [each for each in trees(recorder).split("Entry ") if each.startswith("job")]
    assert job == (
        "job\n"
        "  Exit INSERT UNKNOWN/DATABASE sqlite db.type=sqlite db.instance=:memory: db.operation=INSERT\n"
        "  Exit SELECT UNKNOWN/DATABASE sqlite db.type=sqlite db.instance=:memory: db.operation=SELECT"
    )


def test_remoulade(recorder: Recorder, switch_on: SwitchOn) -> None:
    remoulade = switch_on("remoulade", "remoulade")
    broker = import_module("remoulade.brokers.stub").StubBroker()
    remoulade.set_broker(broker)

    def bill() -> None:
        with local_span("inside"):
            pass

    actor = remoulade.actor(bill)
    broker.declare_actor(actor)
    worker = remoulade.Worker(broker, worker_threads=1)
    with entry_span("GET:/cart"):
        actor.send()
    worker.start()
    try:
        broker.join(actor.queue_name)
        worker.join()
    finally:
        worker.stop()
        broker.close()
    tags = "remoulade.retry_count=0 remoulade.action={} remoulade.actor_name=bill"
    assert trees(recorder) == (
        f"Entry GET:/cart\n  Exit remoulade/send {tags.format('send')}\n"
        f"Entry remoulade/process {tags.format('run')}\n  Local inside"
    )
    assert recorder.segments[0].trace_id == recorder.segments[1].trace_id


def test_threading(recorder: Recorder, switch_on: SwitchOn) -> None:
    switch_on("threading", "threading")

    def work() -> None:
        with local_span("in a thread"):
            pass

    with entry_span("job"), ThreadPoolExecutor(1) as pool:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        pool.submit(work).result()
    assert trees(recorder) == "Entry job\n  Local in a thread\n  Local in a thread"
    uninstall()
    # it leaves its wrapper around what this class has from its base
    if "start" in vars(threading.Timer):
        del threading.Timer.start


def test_asyncio(recorder: Recorder, switch_on: SwitchOn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_PYTHON_ASYNCIO_COROUTINE_NAMES_TO_TRACE", "price")
    switch_on("asyncio", "asyncio")

    async def price() -> None:
        with local_span("inside"):
            await asyncio.sleep(0)

    async def work() -> None:
        with entry_span("job"):
            await asyncio.gather(price(), price())

    asyncio.run(work())
    # it makes no span the current one, so what a coroutine records lies beside its span
    names = ["asyncio coro-price", "asyncio coro-price", "inside", "inside"]
    assert sorted(recorder.only.names) == [*names, "job"]
    assert {span.parent_id for span in recorder.only.spans} == {-1, 0}


def test_ollama(recorder: Recorder, switch_on: SwitchOn) -> None:
    ollama = switch_on("ollama", "ollama")
    said = {"role": "assistant", "content": "secret"}
    answer = {"model": "tiny", "message": said, "done": True, "prompt_eval_count": 3, "eval_count": 5}
    with served(_json_server(lambda _, __: answer)) as address, entry_span("job"):
        client = ollama.Client(host=f"http://{address}")
        client.chat(model="tiny", messages=[{"role": "user", "content": "secret"}])
        client._client.close()
    assert trees(recorder) == (
        "Entry job\n"
        "  Exit ollama.chat UNKNOWN/GEN_AI gen_ai.provider.name=ollama llm.request.type=chat gen_ai.request.model=tiny "
        "llm.is_streaming=False gen_ai.response.model=tiny llm.usage.total_tokens=8 gen_ai.usage.output_tokens=5 "
        "gen_ai.usage.input_tokens=3"
    )


def test_groq(recorder: Recorder, switch_on: SwitchOn) -> None:
    groq = switch_on("groq", "groq")
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "secret"}}
    usage = {"prompt_tokens": 3, "completion_tokens": 5, "total_tokens": 8}
    answer = {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": "tiny",
        "choices": [choice],
        "usage": usage,
    }
    with (
        served(_json_server(lambda _, __: answer)) as address,
        groq.Groq(api_key="k", base_url=f"http://{address}") as client,
        entry_span("job"),
    ):
        client.chat.completions.create(model="tiny", messages=[{"role": "user", "content": "secret"}])
    assert trees(recorder) == (
        "Entry job\n"
        "  Exit chat tiny UNKNOWN/GEN_AI gen_ai.provider.name=groq gen_ai.operation.name=chat "
        "gen_ai.request.model=tiny "
        "gen_ai.is_streaming=False gen_ai.response.finish_reasons=stop gen_ai.response.model=tiny "
        "gen_ai.response.id=1 gen_ai.usage.total_tokens=8 gen_ai.usage.output_tokens=5 gen_ai.usage.input_tokens=3"
    )
