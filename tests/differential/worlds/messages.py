"""Brokers and jobs: RabbitMQ is real, Kafka's broker is the tests' own, and Celery runs its jobs at once."""

from __future__ import annotations

from differential.program import Line, World, call, lines

_LOOPS = ("asyncio", "uvloop")
PIKA = World(
    "pika",
    ("pika",),
    """
    import logging, pika, uuid
    # an end of the socket is logged or not by which side closes it first
    logging.getLogger("pika.adapters.utils").setLevel(logging.WARNING)
    connection = pika.BlockingConnection(pika.URLParameters(URL))
    at_end(lambda: connection.is_open and connection.close())
    channel = connection.channel()
    queue = "q-" + str(uuid.uuid4())
    channel.queue_declare(queue, auto_delete=True, exclusive=True)
    def got(channel, method, properties, body):
        event(body, [k for k in properties.headers or {} if not k.startswith(("sw8", "trace"))], method.redelivered)
        channel.stop_consuming()
    def fails(*args):
        raise LookupError("of a consumer")
    def consumed(callback):
        channel.basic_publish("", queue, b"c")
        channel.basic_consume(queue, callback, auto_ack=True)
        channel.start_consuming()
    def taken(number):
        for _ in range(number):
            channel.basic_publish("", queue, b"t")
        for count, (method, properties, body) in enumerate(channel.consume(queue, auto_ack=True, inactivity_timeout=5)):
            event(body)
            if count + 1 == number:
                break
        return channel.cancel()
    own = pika.BasicProperties(headers={"x-a": "b"}, content_type="text/plain")
    """,
    (
        call(
            "channel.basic_publish 3/5 x4",
            "exchange = ''; routing_key = queue | 'nowhere'; body = b'a' | 'text'; properties = own | None | "
            "pika.BasicProperties(); mandatory = True | False",
            _follow="channel.basic_get(queue, auto_ack=True) | own.headers",
        ),
        call("channel.basic_get 1/2 x2", queue="queue", auto_ack="True | False"),
        *lines("consumed(got) | consumed(fails)"),
        call(
            "channel.basic_consume 2/7",
            "queue = queue; on_message_callback = got | 17; auto_ack = True; exclusive = False; "
            "consumer_tag = 'tag'; arguments = None",
            _follow="channel.basic_cancel({})",
        ),
        *lines(
            "taken(1) | taken(2) | channel.confirm_delivery() | describe(channel.basic_publish) | "
            "describe(channel.consume)"
        ),
        *(Line(f"surface('pika', {number})") for number in range(0, 300, 40)),
    ),
    peers=("rabbitmq",),
)


CELERY = World(
    "celery",
    ("celery",),
    """
    import celery
    app = celery.Celery("jobs", broker="memory://", backend="cache+memory://")
    app.conf.task_always_eager = True
    app.conf.task_store_eager_result = False
    @app.task(name="add")
    def add(x, y=1):
        event("add", x, y)
        return x + y
    @app.task(name="fail", bind=True, max_retries=1, default_retry_delay=0)
    def fail(self, retries=False):
        event("fail", self.request.retries, self.request.headers)
        if retries:
            raise self.retry(countdown=0)
        raise LookupError("of a job") from ValueError("below")
    real = celery.Celery("real", broker="memory://")
    @real.task(name="later")
    def later(x):
        return x
    """,
    (
        call("add.delay 1/2 x2", x="1 | 'a'", y="2", _follow="{}.get() | {}.state | {}.result | {}"),
        call(
            "add.apply_async 0/2 x2",
            "args = (1,) | [1, 2]; kwargs = {'y': 2}; countdown = 0; headers = {'x': 1} | {'sw8': 'mine'}; "
            "expires = 10",
            _follow="{}.get() | {}.traceback is None",
        ),
        call("fail.delay 0/1", retries="True | False", _follow="{}.get() | {}.result | {}.state"),
        call(
            "later.apply_async 0/2", args="(1,)", headers="{'x': 1}", queue="'q'", task_id="'id'", _follow="{}.id | {}"
        ),
        call("app.send_task 1/3", name="'add' | 'none'", args="(1,)", kwargs="{}"),
        *lines(
            "celery.chain(add.s(1), add.s(2))().get() | add(1) | add.apply((1,)).get() | "
            "celery.group(add.s(1), add.s(2))().get() | later.s(1).apply_async()"
        ),
        *(Line(f"surface('celery', {number})") for number in range(0, 200, 25)),
    ),
)

AIOKAFKA = World(
    "aiokafka",
    ("aiokafka",),
    """
    import aiokafka
    producer = aiokafka.AIOKafkaProducer(bootstrap_servers=ADDRESS, request_timeout_ms=4000)
    await producer.start()
    at_end(producer.stop)
    """,
    (
        call(
            "await producer.send_and_wait 1/6 x3",
            "topic = 'orders' | 'bad topic'; value = b'1' | 'text' | None; key = b'k'; partition = 0 | 7; "
            "timestamp_ms = None; headers = [('x', b'1')] | [] | None | [('sw8', b'mine')]",
        ),
        call(
            "await producer.send 1/6",
            "topic = 'orders'; value = b'1'; key = b'k'; partition = 0; timestamp_ms = 1; headers = [('x', b'1')]",
            _follow="await {} | {}.done() | {}.cancel()",
        ),
        *lines(
            "producer.create_batch().append(key=None, value=b'1', timestamp=None) | "
            "await producer.flush() | await producer.partitions_for('orders')"
        ),
        *(Line(f"surface('aiokafka', {number})") for number in range(0, 300, 30)),
        *lines("describe(aiokafka.AIOKafkaConsumer.getone) | describe(aiokafka.AIOKafkaConsumer.getmany)"),
    ),
    peers=("kafka",),
    loops=_LOOPS,
)
KAFKA_PYTHON = World(
    "kafka-python",
    ("kafka",),
    """
    import kafka
    """,
    (
        *(Line(f"surface('kafka', {number})") for number in range(0, 300, 12)),
        *lines(
            "describe(kafka.KafkaProducer.send) | describe(kafka.KafkaConsumer.poll) | "
            "describe(kafka.KafkaConsumer.__next__) | kafka.KafkaConsumer(odd=1)"
        ),
        call("kafka.KafkaProducer.send 1/2", self="None", topic="'a'"),
    ),
    records=False,
    leaves=True,
)
CONFLUENT = World(
    "confluent-kafka",
    ("confluent_kafka",),
    """
    import confluent_kafka
    producer = confluent_kafka.Producer({"bootstrap.servers": NOWHERE, "message.timeout.ms": 50, "log_level": 0})
    at_end(producer.flush, 5)
    def delivered(error, message):
        event(error.name(), message.topic())
    """,
    (
        call(
            "producer.produce 1/8 x9",
            "topic = 'orders' | 17; value = b'1' | 'text'; key = b'k'; partition = 0; on_delivery = delivered; "
            "callback = delivered; timestamp = 1; headers = [('x', b'1')] | {'x': 'y'} | 17",
            _follow="producer.flush(5)",
        ),
        *lines(
            "producer.flush(5), len(producer) | type(producer) | "
            "confluent_kafka.Producer.__mro__, confluent_kafka.Consumer.__mro__ | "
            "confluent_kafka.Producer({'nonsense': 1})"
        ),
        *(Line(f"surface('confluent_kafka', {number})") for number in range(0, 300, 25)),
    ),
)

WORLDS = (PIKA, CELERY, AIOKAFKA, KAFKA_PYTHON, CONFLUENT)
