"""Queues whose worker runs in this process: jobs are sent, worked off, and asked for their results."""

from __future__ import annotations

from differential.program import Line, World, call, choices, lines

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


_TASKIQ = """
    import asyncio, inspect, taskiq
    from taskiq import Context, InMemoryBroker, SimpleRetryMiddleware, SmartRetryMiddleware, TaskiqDepends
    from taskiq.receiver import Receiver
    from taskiq.scheduler.scheduled_task import ScheduledTask
    class Looks(taskiq.TaskiqMiddleware):
        def pre_send(self, message):
            event("pre_send", message.task_name, message.args, message.kwargs, message.labels, message.labels_types)
            return message
        async def post_send(self, message):
            event("post_send", message.task_name, message.labels)
        def pre_execute(self, message):
            event("pre_execute", message.task_name, message.labels)
            return message
        def post_execute(self, message, result):
            event("post_execute", message.task_name, result.is_err, result.labels)
        def on_error(self, message, result, error):
            event("on_error", message.task_name, type(error), message.labels)
        def post_save(self, message, result):
            event("post_save", message.task_name, result.return_value, result.error)
    class Source(taskiq.ScheduleSource):
        async def get_schedules(self):
            return []
        async def add_schedule(self, schedule):
            event("schedule", schedule.task_name, schedule.labels, schedule.args, schedule.kwargs)
    source = Source()
    broker = InMemoryBroker()
    async def work():
        await broker.wait_all()
        await broker.wait_all()
    broker.add_middlewares(SimpleRetryMiddleware(default_retry_count=2), Looks())
    async def depends(context: Context = TaskiqDepends()):
        event("begins")
        yield context.message.task_name
        event("ends")
    @broker.task("add", tenant="acme")
    async def add(x: int, y: int = 1, context: Context = TaskiqDepends(), name: str = TaskiqDepends(depends)) -> int:
        "Adds."
        message = context.message
        event("add", x, y, name, message.labels, message.labels_types, message.args, message.kwargs)
        return x + y
    @broker.task("plain")
    def plain(x):
        event("plain", x)
        return x
    @broker.task("fail", retry_on_error=True, max_retries=2)
    async def fail(why="of a job", context: Context = TaskiqDepends()):
        event("fail", context.message.labels)
        raise LookupError(why) from ValueError("below")
    @broker.task("hang", timeout=0.05)
    async def hang():
        await asyncio.Event().wait()
    @broker.task("none")
    async def none():
        raise taskiq.NoResultError
    @broker.task("gone")
    async def gone():
        raise asyncio.CancelledError
    @broker.task("outer")
    async def outer(x, context: Context = TaskiqDepends()):
        sent = await add.kiq(x)
        event("outer", type(sent).__name__, context.message.labels)
        return x
    @broker.task("again")
    async def again(context: Context = TaskiqDepends()):
        event("again", context.message.labels)
        if "X-Taskiq-requeue" not in context.message.labels:
            await context.requeue()
    await broker.startup()
    at_end(broker.shutdown)
    async def get(task):
        result = await task.wait_result(check_interval=0.01, timeout=0.3)
        return result.is_err, result.return_value, result.error, result.labels
    """
_TASKIQ_FOLLOW = choices("await work() | await get({}) | await {}.is_ready() | type({}), {}.return_type")


TASKIQ = World(
    "taskiq",
    ("taskiq",),
    _TASKIQ,
    (
        call("await add.kiq 1/2 x4", x="1 | '2' | 'a'", y="2 | {'b': 1}", _follow=_TASKIQ_FOLLOW),
        call("await plain.kiq 1/1 x2", x="1 | object()", _follow=_TASKIQ_FOLLOW),
        call("await fail.kiq 0/1 x3", why="'busy'", _follow=_TASKIQ_FOLLOW),
        *(call(f"await {each}.kiq", _follow=_TASKIQ_FOLLOW) for each in ("hang", "none", "gone", "again")),
        call("await outer.kiq 1/1 x2", x="1", _follow=_TASKIQ_FOLLOW),
        call(
            "add.kicker().with_labels 0/0 x4",
            "tenant = 'b' | b'b'; sw8 = 'mine'; delay = 1 | 0.5; timeout = 5; queue_name = 'low'",
            _follow="await {}.kiq(1) | await {}.with_task_id('id').kiq(1, y=2) | {}.labels | await work()",
        ),
        call("add.kicker().with_task_id 1/1", task_id="'id' | None", _follow="await {}.kiq(1) | await work()"),
        call(
            "fail.kicker().with_labels 0/0",
            "max_retries = 0 | 1; delay = 1; retry_on_error = False",
            _follow="await {}.kiq('busy') | await work()",
        ),
        call(
            "await add.kicker().schedule_by_cron 2/2",
            "source = source; cron = '* * * * *'; * = 1; y = 2",
            _follow="await {}.kiq() | await work() | {}.task.labels",
        ),
        Line("setattr(broker, 'await_inplace', True)", weight=3),
        *lines(
            "[each.return_value for each in await taskiq.gather(await add.kiq(1), await plain.kiq(2), timeout=9, periodicity=0.01)] | "
            "broker.add_middlewares(SmartRetryMiddleware(default_retry_count=1, default_delay=0)) | "
            "broker.serializer.dumpb({'a': 1})"
        ),
        Line("await work()", weight=2),
        *lines(
            "plain(1), add.__doc__, add.labels, add.task_name, inspect.iscoroutinefunction(add) | "
            "inspect.iscoroutinefunction(add.kiq), inspect.iscoroutinefunction(add.original_func) | add | "
            "add.kicker()._prepare_message(1, y=2).labels"
        ),
        *(Line(f"surface('taskiq', {number})") for number in range(0, 300, 30)),
    ),
    loops=("asyncio", "uvloop"),
    length=4,
)


WORLDS = (DRAMATIQ, TASKIQ)
