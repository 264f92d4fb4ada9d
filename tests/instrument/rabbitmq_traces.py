"""The trace of a message through RabbitMQ, alike for each library that sends and takes it."""

from __future__ import annotations

from kit.real.rabbitmq import RabbitMQ
from swagent import local_span

NAME = "RabbitMQ/Topic/shop/Queue/orders.new"


def work() -> None:
    with local_span("work"):
        pass


def produced(rabbitmq: RabbitMQ) -> str:
    """A job that sends a message."""
    tags = f"mq.broker={rabbitmq.address} mq.topic=shop mq.queue=orders.new"
    return f"Local job\n  Exit {NAME}/Producer RABBITMQ_PRODUCER/MQ {rabbitmq.address} {tags}"


def consumed(rabbitmq: RabbitMQ) -> str:
    """The work on it."""
    tags = f"mq.broker={rabbitmq.address} mq.topic=shop mq.queue=orders.new"
    return f"Entry {NAME}/Consumer RABBITMQ_CONSUMER/MQ {tags} transmission.latency=…\n  Local work"


def both(rabbitmq: RabbitMQ) -> str:
    """The one and the other."""
    return f"{produced(rabbitmq)}\n{consumed(rabbitmq)}"
