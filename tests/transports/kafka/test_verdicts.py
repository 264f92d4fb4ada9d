"""Which error of Kafka's is which verdict."""

from __future__ import annotations

import pytest
from aiokafka import errors as kafka

from swagent.errors import AmbiguousError, DeliveryError, RejectedError, RetryableError
from swagent_transports._kafka_attempt import LeaderLostError
from swagent_transports._kafka_verdicts import answered, together, unsent

RETRY, REFUSED, OPEN = RetryableError("r"), RejectedError("x", pause=1.0), AmbiguousError("a")


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (kafka.KafkaConnectionError(), RetryableError),
        (kafka.KafkaTimeoutError(), RetryableError),
        (kafka.ProducerClosed(), RetryableError),
        (kafka.NodeNotReadyError(), RetryableError),
        (OSError(), RetryableError),
        (kafka.UnknownTopicOrPartitionError(), RejectedError),
        (kafka.TopicAuthorizationFailedError(), RejectedError),
        (kafka.SaslAuthenticationFailed(), RejectedError),
    ],
)
def test_before_the_batch_was_taken(error: Exception, verdict: type[DeliveryError]) -> None:
    assert type(unsent(error)) is verdict


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (kafka.NodeNotReadyError(), RetryableError),
        (kafka.LeaderNotAvailableError(), RetryableError),
        (kafka.NotEnoughReplicasError(), RetryableError),
        (kafka.UnknownTopicOrPartitionError(), RetryableError),
        (kafka.MessageSizeTooLargeError(), RejectedError),
        (kafka.TopicAuthorizationFailedError(), RejectedError),
        (kafka.NotLeaderForPartitionError(), RetryableError),
        (LeaderLostError("written there"), AmbiguousError),
        (kafka.NotEnoughReplicasAfterAppendError(), AmbiguousError),
        (kafka.RequestTimedOutError(), AmbiguousError),
        (kafka.KafkaConnectionError(), AmbiguousError),
        (kafka.KafkaStorageError(), AmbiguousError),
        (kafka.UnknownError(), AmbiguousError),
        (ValueError(), AmbiguousError),
    ],
)
def test_after_its_one_attempt(error: Exception, verdict: type[DeliveryError]) -> None:
    assert type(answered(error)) is verdict


def test_a_broker_that_refuses_everything_is_left_alone_for_a_while() -> None:
    pauses = [unsent(error()) for error in (kafka.SaslAuthenticationFailed, kafka.UnknownTopicOrPartitionError)]
    assert [error.pause for error in pauses if isinstance(error, RejectedError)] == [60.0, 30.0]
    too_large = answered(kafka.MessageSizeTooLargeError())
    assert isinstance(too_large, RejectedError)
    assert too_large.pause == 0.0


def test_parts_that_agree() -> None:
    assert together([]) is None
    assert together([None, None]) is None
    assert together([RETRY, RETRY]) is RETRY
    assert together([RejectedError("y"), REFUSED]) is REFUSED


@pytest.mark.parametrize("parts", [[None, RETRY], [RETRY, REFUSED], [None, REFUSED], [None, None, OPEN]])
def test_parts_that_do_not_agree_leave_the_whole_open(parts: list[DeliveryError | None]) -> None:
    assert isinstance(together(parts), AmbiguousError)
