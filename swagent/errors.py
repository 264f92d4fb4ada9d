"""The one tree of errors: what can be wrong with a configuration, and what can become of a batch."""

from __future__ import annotations


class SwagentError(Exception):
    """Base of every error that swagent raises on purpose."""


class ConfigError(SwagentError):
    """A setting cannot be used. Raised at start only, never afterwards.

    :ivar name: the environment variable or the `Config` field
    :ivar value: the value as it was given (masked for secrets)
    :ivar allowed: what would have been accepted
    """

    def __init__(self, name: str, value: object, allowed: str) -> None:
        super().__init__(f"{name}={value!r} cannot be used; allowed: {allowed}")
        self.name = name
        self.value = value
        self.allowed = allowed


class AgentStateError(SwagentError):
    """The agent was asked for something that its phase does not allow, such as starting it twice."""


class DeliveryError(SwagentError):
    """A batch was not confirmed. The subclass is the verdict on it."""


class RetryableError(DeliveryError):
    """Provably not sent: nothing of the batch reached the collector, so sending it again cannot duplicate it.

    :ivar pause: seconds for which the collector asked to be left alone
    """

    def __init__(self, message: str, *, pause: float = 0.0) -> None:
        super().__init__(message)
        self.pause = pause


class AmbiguousError(DeliveryError):
    """Bytes left, but no verdict came: the collector may or may not have the batch."""


class RejectedError(DeliveryError):
    """The collector refused the batch; this batch is never sent again.

    :ivar pause: seconds for which the collector should be left alone, 0.0 when the next batch may go at once
    :ivar only_this_signal: the pause concerns this kind of records; others are welcome
    :ivar count: how many of the batch's records were refused, where the collector has the others; None: all
    """

    def __init__(
        self, message: str, *, pause: float = 0.0, only_this_signal: bool = False, count: int | None = None
    ) -> None:
        super().__init__(message)
        self.pause = pause
        self.only_this_signal = only_this_signal
        self.count = count
