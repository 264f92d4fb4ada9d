"""The verdicts on a batch by Kafka's errors. Pure."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from aiokafka import errors as kafka  # pyright: ignore[reportMissingTypeStubs]

from swagent.errors import AmbiguousError, DeliveryError, RejectedError, RetryableError

# The broker looked at the batch, or at us, and said no. Seconds for which the cluster is left alone then.
_REFUSALS: dict[type[BaseException], float] = {
    kafka.SaslAuthenticationFailed: 60.0,
    kafka.UnsupportedSaslMechanismError: 60.0,
    kafka.IllegalSaslStateError: 60.0,
    kafka.ClusterAuthorizationFailedError: 60.0,
    kafka.TopicAuthorizationFailedError: 60.0,
    kafka.UnknownTopicOrPartitionError: 30.0,
    kafka.InvalidTopicError: 30.0,
    kafka.MessageSizeTooLargeError: 0.0,
    kafka.RecordListTooLargeError: 0.0,
    kafka.CorruptRecordException: 0.0,
    kafka.InvalidTimestampError: 0.0,
    kafka.UnsupportedForMessageFormatError: 0.0,
    kafka.PolicyViolationError: 0.0,
}
# Refusals that concern one topic, and so one signal.
_OF_ONE_TOPIC = (kafka.TopicAuthorizationFailedError, kafka.UnknownTopicOrPartitionError, kafka.InvalidTopicError)
# Outcomes after which the batch is in no broker's log. NotLeaderForPartitionError is one of them: if a leader was
# replaced after it had written the batch, `_kafka_attempt` turns its answer into another error.
_NOT_WRITTEN = (
    kafka.NodeNotReadyError,
    kafka.NotLeaderForPartitionError,
    kafka.LeaderNotAvailableError,
    kafka.NotEnoughReplicasError,
    # in an answer: the partition has moved since we looked
    kafka.UnknownTopicOrPartitionError,
)


def unsent(error: BaseException) -> DeliveryError:
    """The verdict on a batch that was not handed to the client, because of this error."""
    return _refusal(error) or RetryableError(_text(error))


def answered(error: BaseException) -> DeliveryError:
    """The verdict on a batch whose one attempt ended in this error."""
    if isinstance(error, _NOT_WRITTEN):
        return RetryableError(_text(error))
    return _refusal(error) or AmbiguousError(_text(error))


def _refusal(error: BaseException) -> RejectedError | None:
    pause = _REFUSALS.get(type(error))
    if pause is None:
        return None
    return RejectedError(_text(error), pause=pause, only_this_signal=isinstance(error, _OF_ONE_TOPIC))


def together(verdicts: Sequence[DeliveryError | None]) -> DeliveryError | None:
    """The one verdict on several batches that belong together; None: confirmed. There is no verdict on a part."""
    if len({type(each) for each in verdicts}) <= 1:
        return max(verdicts, key=lambda each: getattr(each, "pause", 0.0), default=None)
    failed = [each for each in verdicts if each is not None]
    return AmbiguousError(f"{len(failed)} of {len(verdicts)} parts were not confirmed: {failed[0]}")


def outcome(call: asyncio.Future[None], seconds: float) -> DeliveryError | None:
    """The verdict that a call has come to.

    :param seconds: how long it was given
    """
    if not call.done():
        return AmbiguousError(f"no answer within {seconds:g} s, and no end")
    if call.cancelled():
        return AmbiguousError("the call was cancelled from inside")
    error = call.exception()
    return error if error is None or isinstance(error, DeliveryError) else AmbiguousError(_text(error))


def _text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
