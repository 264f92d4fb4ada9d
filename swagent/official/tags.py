"""Tags as objects: a class has the key, and its instance the value."""

from __future__ import annotations


class Tag:
    """The base. A subclass names its key, and whether a second tag of that key takes the place of the first."""

    key: str = ""
    overridable: bool = True

    def __init__(self, val: object) -> None:
        self.val = str(val)


class TagHttpMethod(Tag):
    """The method of a request."""

    key = "http.method"


class TagHttpURL(Tag):
    """Its URL."""

    key = "http.url"


class TagHttpStatusCode(Tag):
    """The status of its response."""

    key = "http.status_code"


class TagHttpStatusMsg(Tag):
    """The words that go with it."""

    key = "http.status_msg"


class TagHttpParams(Tag):
    """The parameters of a request."""

    key = "http.params"


class TagDbType(Tag):
    """The kind of a database."""

    key = "db.type"


class TagDbInstance(Tag):
    """Its name."""

    key = "db.instance"


class TagDbStatement(Tag):
    """A query."""

    key = "db.statement"


class TagDbSqlParameters(Tag):
    """Its parameters."""

    key = "db.sql.parameters"
    overridable = False


class TagCacheType(Tag):
    """The kind of a cache."""

    key = "cache.type"


class TagCacheOp(Tag):
    """Whether it is read or written."""

    key = "cache.op"


class TagCacheCmd(Tag):
    """The command."""

    key = "cache.cmd"


class TagCacheKey(Tag):
    """The key that it is about."""

    key = "cache.key"


class TagMqBroker(Tag):
    """The address of a broker."""

    key = "mq.broker"


class TagMqTopic(Tag):
    """A topic."""

    key = "mq.topic"


class TagMqQueue(Tag):
    """A queue."""

    key = "mq.queue"


class TagCeleryParameters(Tag):
    """The arguments of a job."""

    key = "celery.parameters"


class TagGrpcMethod(Tag):
    """The kind of a call by gRPC."""

    key = "grpc.method"


class TagGrpcUrl(Tag):
    """Its method."""

    key = "grpc.url"


class TagGrpcStatusCode(Tag):
    """Its outcome."""

    key = "grpc.status_code"
