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


_RQ_OPTIONS = {
    "meta": "{'tenant': 'acme'} | {} | {'swagent': 'mine'}",
    "job_id": "'id' | 'other'",
    "retry": "Retry(max=1) | Retry(max=2, interval=[0])",
    "job_timeout": "60 | '1m'",
    "result_ttl": "60 | 0 | -1",
    "description": "'of a test'",
    "at_front": "True",
    "on_success": "succeeded | Callback(succeeded, timeout='1m')",
    "on_failure": "failed | Callback('program.failed')",
}
_RQ_FOLLOW = (
    *("done({})",) * 5,
    *choices(
        "work() | work() | work(exception_handlers=[handle]) | {}.get_status() | {}.return_value() | "
        "{}.meta, {}.args, {}.kwargs, {}.func_name, {}.origin | "
        "Job.fetch({}.id, connection=connection).meta | {}.latest_result().exc_string | "
        "{}.get_call_string(), {}.description, {}.timeout | sorted({}.to_dict()) | {}.refresh() | "
        "{}.cancel() | {}.requeue() | {}.delete() | {}.save() | queue.enqueue_job({}) | "
        "{}.is_finished, {}.is_failed, {}.retries_left, {}.number_of_retries | {}"
    ),
)


RQ = World(
    "rq",
    ("rq",),
    """
    import asyncio, inspect, redis, rq, rq.job, rq.scheduler, signal
    from datetime import datetime, timedelta, timezone
    from rq import Callback, Retry
    from rq.decorators import job as job_of
    from rq.job import Job
    connection = redis.Redis(port=int(PORT))
    at_end(connection.close)
    connection.flushall()
    queue = rq.Queue("orders", connection=connection)
    at_once = rq.Queue("at once", connection=connection, is_async=False)
    def add(x=0, y=1, *more):
        job = rq.get_current_job()
        event("add", x, y, job.meta, sorted(job.to_dict()), job.args, job.kwargs, job.func_name, job.origin, job.retries_left)
        job.meta["seen"] = x
        job.save_meta()
        return x + y
    def fail(why="of a job"):
        event("fail", rq.get_current_job().number_of_retries)
        raise LookupError(why) from ValueError("below")
    def again():
        event("again", rq.get_current_job().number_of_retries)
        return Retry(max=1)
    async def awaits(x):
        await asyncio.sleep(0)
        event("awaits", rq.get_current_job().meta)
        return x
    def outer(x):
        sent = queue.enqueue(add, x, meta={"from": "outer"})
        event("outer", sent.meta, sorted(vars(sent)) == sorted(vars(queue.create_job(add))))
        return sent.func_name
    class Shop:
        def price(self, x):
            event("price", x)
            return x
        __call__ = price
    def succeeded(job, connection, result, *args, **kwargs):
        event("succeeded", job.func_name, result, job.meta)
    def failed(job, connection, kind, error, traceback):
        event("failed", job.func_name, kind, error.args, job.meta)
    def handle(job, kind, error, traceback):
        event("handled", job.id == error, kind, error.args)
        return True
    @job_of(queue, connection=connection, meta={"a": 1}, result_ttl=60)
    def decorated(x, y=1):
        event("decorated", x, y)
        return x
    def due():
        mover = rq.scheduler.RQScheduler([queue], connection=connection)
        mover.acquire_locks()
        mover.enqueue_scheduled_jobs()
        mover.release_locks()
        return queue.count
    def work(*queues, **options):
        former = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
        worker = rq.SimpleWorker(list(queues) or [queue], connection=connection, name="w", **options)
        try:
            worked = worker.work(burst=True)
        finally:
            for each, handler in former.items():
                signal.signal(each, handler)
        return worked, worker.successful_job_count, worker.failed_job_count
    def done(job):
        work()
        return job.get_status(), job.return_value(), job.get_meta(), job.args, job.kwargs, job.retries_left
    """,
    (
        call(
            "queue.enqueue 1/1 x5",
            "f = add | 'program.add' | Shop().price | Shop() | awaits | 'program.none' | outer | len; * = 1 | "
            "'a' | 2; y = 3 | 'b'",
            **_RQ_OPTIONS,
            _follow=_RQ_FOLLOW,
        ),
        call(
            "queue.enqueue_call 1/7 x3",
            "func = add | fail | again; args = (1,) | [1, 2] | (); kwargs = {'y': 2} | None; timeout = 60 | "
            "'1m' | -1; result_ttl = 60 | 0; ttl = 60; failure_ttl = 60; meta = {'tenant': 'acme'}; "
            "retry = Retry(1) | Retry(max=2, interval=[0, 60])",
            _follow=_RQ_FOLLOW,
        ),
        call("queue.enqueue 1/1 x3", f="fail | 'program.fail' | again", **_RQ_OPTIONS, _follow=_RQ_FOLLOW),
        call("at_once.enqueue 1/1 x2", f="add | fail | again", _rest="1", **_RQ_OPTIONS, _follow=_RQ_FOLLOW),
        call(
            "queue.enqueue_in 2/2 x2",
            "time_delta = timedelta(seconds=-1) | timedelta(hours=1); func = add | fail; * = 1; y = 2; "
            "meta = {'tenant': 'acme'}",
            _follow=(*("due(), work()",) * 5, *_RQ_FOLLOW),
        ),
        call(
            "queue.enqueue_at 2/2",
            "datetime = datetime(2020, 1, 1, tzinfo=timezone.utc) | datetime(2020, 1, 1); f = add; * = 1; "
            "job_id = 'id'",
            _follow=(*("due(), work()",) * 5, *_RQ_FOLLOW),
        ),
        call("decorated.delay 1/2 x2", x="1", y="2", job_id="'id'", at_front="True", _follow=_RQ_FOLLOW),
        Line(
            "queue.enqueue_many([rq.Queue.prepare_data(add, (each,)) for each in (1, 2)])", follow=("work()", "len({})")
        ),
        Line("queue.enqueue(add, 1, job_id='id', unique=True)", follow=_RQ_FOLLOW),
        Line("queue.enqueue_job(queue.create_job(add, args=(1,), meta={'a': 1}))", follow=_RQ_FOLLOW),
        Line("queue.enqueue(fail, depends_on=queue.enqueue(add, 1))", follow=_RQ_FOLLOW),
        Line(
            "enter(connection.pipeline())", follow=("queue.enqueue(add, 1, pipeline={})", "len({}.execute())", "work()")
        ),
        Line("work()", weight=3),
        Line("work(exception_handlers=[handle])", weight=2),
        *lines(
            "work(queue, at_once, job_class=Job, default_result_ttl=60) | "
            "[sorted(each.meta) for each in queue.jobs] | "
            "queue.count, queue.failed_job_registry.count, queue.finished_job_registry.count | "
            "decorated(1), decorated.delay.__name__, inspect.iscoroutinefunction(awaits)"
        ),
        Line("Job.fetch('id', connection=connection)", follow=_RQ_FOLLOW),
        *lines("Job.fetch_many(['id', 'none'], connection=connection) | queue.empty()"),
        *(Line(f"surface('rq', {number})") for number in range(0, 300, 30)),
    ),
    peers=("redis",),
    leaves=True,
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


WORLDS = (DRAMATIQ, RQ, TASKIQ)
