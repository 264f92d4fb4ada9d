"""A queue whose worker runs in this process: jobs are sent, worked off, and asked for their results."""

from __future__ import annotations

from differential.program import Line, World, call, choices

_DRAMATIQ = """
    import dramatiq, functools, inspect
    from dramatiq import middleware
    from dramatiq.errors import Retry
    from dramatiq.middleware import CurrentMessage, SkipMessage
    from dramatiq.results import Results
    def shown(options):
        return {name: each for name, each in options.items() if name not in ("traceback", "requeue_timestamp", "eta")}
    def passing(what, message):
        event(what, message.actor_name, {name: each for name, each in shown(message.options).items() if name != "swagent"})
        event("carries the context", "swagent" in message.options)
    class Looks(dramatiq.Middleware):
        actor_options = {"tenant"}
        def before_enqueue(self, broker, message, delay):
            passing("enqueue", message)
            event("delay", type(message).__name__, delay)
        def after_enqueue(self, broker, message, delay):
            passing("enqueued", message)
        def before_process_message(self, broker, message):
            event("process", type(message).__name__, shown(message.options))
            if message.options.get("tenant") == "skipped":
                raise SkipMessage("of a middleware")
        def after_process_message(self, broker, message, *, result=None, exception=None):
            event("processed", message.actor_name, result, type(exception), shown(message.options))
        def after_skip_message(self, broker, message):
            event("skipped", message.actor_name, shown(message.options))
        def before_nack(self, broker, message):
            passing("nack", message)
    looks = Looks()
    class Retries(middleware.Retries):
        def after_process_message(self, broker, message, **outcome):
            # without a limit it goes on until the worker's time is over, so how often is up to the clock
            if message.options.get("retries", 0) > 3 and message.options.get("max_retries", 0) is None:
                message.options["max_retries"] = 3
            super().after_process_message(broker, message, **outcome)
    # a second retry waits for a random time above it
    retries = Retries(max_retries=1, min_backoff=1, max_backoff=1)
    chain = [middleware.AgeLimit(), middleware.Callbacks(), middleware.Pipelines(), retries, CurrentMessage(), looks]
    from dramatiq.brokers.stub import StubBroker
    from dramatiq.results.backends import StubBackend
    backend = StubBackend()
    broker = StubBroker(chain, fail_fast_default=False)
    dramatiq.set_broker(broker)
    broker.add_middleware(Results(backend=backend, store_results=True))
    at_end(broker.close)
    at_end(broker.flush_all)
    @dramatiq.actor(broker=broker)
    def add(x, y=1):
        current = CurrentMessage.get_current_message()
        event("add", x, y, shown(current.options), sorted(current.asdict()), current.args, current.kwargs)
        return x + y
    @dramatiq.actor(broker=broker, queue_name="low", priority=3, max_retries=1)
    def fail(why="of a job"):
        event("fail", shown(CurrentMessage.get_current_message().options))
        raise LookupError(why) from ValueError("below")
    @dramatiq.actor(broker=broker, throws=KeyError, actor_name="expected.one", on_retry_exhausted="none")
    def expected():
        raise KeyError("sold out")
    @dramatiq.actor(broker=broker, max_retries=0, on_retry_exhausted="exhausted")
    def again(delay=None):
        raise Retry("once more", delay=delay)
    @dramatiq.actor(broker=broker)
    def exhausted(message, retries):
        event("exhausted", sorted(message), shown(message["options"]), retries)
    @dramatiq.actor(broker=broker)
    def outer(x):
        sent = add.send(x)
        event("outer", sent.asdict()["options"])
        return sent.actor_name
    @dramatiq.actor(broker=broker)
    def resend():
        current = CurrentMessage.get_current_message()
        if not current.options.get("is_second"):
            event(broker.enqueue(current.copy(options={"is_second": True})).options["is_second"])
    @dramatiq.actor(broker=broker)
    def done(*args):
        event("done", [sorted(each) if isinstance(each, dict) else each for each in args])
    class Generic(dramatiq.GenericActor):
        class Meta:
            broker = globals()["broker"]
        def perform(self, x):
            event("generic", x)
    def work():
        worker = dramatiq.Worker(broker, worker_timeout=10, worker_threads=1)
        worker.start()
        try:
            for queue in ("default", "low"):
                broker.join(queue, timeout=3000)
            worker.join()
        finally:
            worker.stop()
    def get(message):
        work()
        return message.get_result(backend=backend)
    """
_WORKED = choices("work() | get({}) | {}.options | {}.args, {}.kwargs | {} | dict({}.asdict(), options=0) | str({})")


DRAMATIQ = World(
    "dramatiq",
    ("dramatiq",),
    _DRAMATIQ,
    (
        call("add.send 1/2 x4", x="1 | 'a' | [1]", y="2 | 'b'", _follow=_WORKED),
        call(
            "add.send_with_options 0/0 x4",
            "args = (1,) | [1, 2] | (object(),); kwargs = {'y': 2} | {'z': 3}; delay = 1 | 0; "
            "on_success = done | 'done'; on_failure = done; max_age = 60_000 | 1; tenant = 'acme' | 'skipped'; "
            "sw8 = 'mine'; pipe_target = done.message()",
            _follow=_WORKED,
        ),
        call("fail.send 0/1 x2", why="'busy'", _follow=_WORKED),
        call(
            "fail.send_with_options 0/0 x2",
            "args = ('busy',); max_retries = 0 | 2 | None; on_failure = done; throws = LookupError | "
            "(LookupError,); on_retry_exhausted = 'exhausted'",
            _follow=_WORKED,
        ),
        call("again.send 0/1 x2", delay="1 | None", _follow=_WORKED),
        call("outer.send 1/1 x2", x="1", _follow=_WORKED),
        call("resend.send x2", _follow=_WORKED),
        call("expected.send", _follow=_WORKED),
        call("Generic.send 1/1", x="1", _follow=_WORKED),
        call(
            "broker.enqueue 1/1 x3",
            message="add.message(1) | done.message(1, 2) | add.message(1).copy(queue_name='none') | add",
            delay="1 | None",
            _follow=_WORKED,
        ),
        Line("broker.enqueue(dramatiq.Message('default', 'none', (), {}, {}))", follow=_WORKED),
        Line("(add.message(1) | add.message(2)).run()", follow=("get({})", "{}.completed", "len({})")),
        Line("dramatiq.group([add.message(1), fail.message()], broker=broker).run()", follow=("work()", "len({})")),
        Line("work()", weight=2),
        Line("add(1), add.fn(1)", weight=2),
        Line("add.message_with_options(args=(1,), delay=5).encode()"),
        Line("dramatiq.Message.decode(add.message(1, y=2).encode())", follow=_WORKED),
        Line("fail.options, add.logger.name, fail.priority, fail.queue_name, inspect.iscoroutinefunction(add.fn)"),
        Line("functools.partial(add.send, 1)()", follow=_WORKED),
        Line("add"),
        *(Line(f"surface('dramatiq', {number})") for number in range(0, 200, 25)),
    ),
    length=4,
)


WORLDS = (DRAMATIQ,)
