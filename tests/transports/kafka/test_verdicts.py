"""Which error of Kafka's is which verdict."""

from __future__ import annotations

import pytest
from aiokafka import errors as kafka

from swagent.errors import AmbiguousError, DeliveryError, RejectedError, RetryableError
from swagent_transports._kafka_attempt import LeaderLostError
from swagent_transports._kafka_verdicts import answered, together, unsent

RETRY, REFUSED, OPEN = RetryableError("r"), RejectedError("x", pause=1.0), AmbiguousError("a")


# those that are no answers of a broker's: for these see test_hostile_brokers.py
BEFORE = [kafka.KafkaConnectionError, kafka.KafkaTimeoutError, kafka.ProducerClosed, kafka.NodeNotReadyError, OSError]
AFTER = [kafka.KafkaConnectionError, LeaderLostError, ValueError]


def test_errors_of_the_client() -> None:
    assert {type(unsent(error())) for error in BEFORE} == {RetryableError}
    assert {type(answered(error())) for error in AFTER} == {AmbiguousError}
    assert type(answered(kafka.NodeNotReadyError())) is RetryableError, "the batch has not left"


def test_a_broker_that_refuses_everything_is_left_alone_for_a_while() -> None:
    pauses = [unsent(error()) for error in (kafka.SaslAuthenticationFailed, kafka.UnknownTopicOrPartitionError)]
    assert [error.pause for error in pauses if isinstance(error, RejectedError)] == [60.0, 30.0]


def test_parts_that_agree() -> None:
    assert together([]) is None
    assert together([None, None]) is None
    assert together([RETRY, RETRY]) is RETRY
    assert together([RejectedError("y"), REFUSED]) is REFUSED


@pytest.mark.parametrize("parts", [[None, RETRY], [RETRY, REFUSED], [None, REFUSED], [None, None, OPEN]])
def test_parts_that_do_not_agree_leave_the_whole_open(parts: list[DeliveryError | None]) -> None:
    assert isinstance(together(parts), AmbiguousError)
