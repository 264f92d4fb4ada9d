"""The kinds of lines in a profile's stack: a request, a task or thread beside it, a call, or the state at its end.

A line names a module, and no file. So a library is known by its name: one of Python's own, or one of those that serve
requests or are called by what does. Any other module is taken for the application's.
"""

from __future__ import annotations

import re
import sys

_STATES = (("[running]", "running"), ("[ready", "ready"), ("[awaiting", "awaiting"))
_FOREIGN = """
aio_pika aiobotocore aiohttp aiokafka aiomysql aiormq aiosqlite amqp anthropic anyio arq asgiref asyncmy asyncpg
billiard boto3 botocore bottle celery confluent_kafka django elastic_transport elasticsearch exceptiongroup falcon
fastapi flask gevent granian greenlet grpc grpclib gunicorn h11 h2 happybase httpcore httptools httpx hypercorn jinja2
kafka kombu litestar motor multipart neo4j openai opensearchpy opentelemetry pika psycopg psycopg2 psycopg_pool pulsar
pydantic pydantic_core pymongo pymysql pyramid python_multipart quart redis requests sanic sniffio sqlalchemy starlette
swagent swagent_transports tornado trio typing_extensions urllib3 uvicorn uvloop valkey webob websockets werkzeug wrapt
"""
# Tasks without a name have a number.
_UNNAMED = re.compile(r" / task Task-\d+")
_BESIDE = re.compile(r".+ / (?:task .+|tasks|thread)")
_LIBRARIES = frozenset((*_FOREIGN.split(), *sys.stdlib_module_names)) - {"__main__"}


def state_of(line: str) -> str:
    """The state of the task by this line: `running`, `ready` or `awaiting`; empty: it is a call."""
    return next((state for text, state in _STATES if line.startswith(text)), "")


def shared_name(first: str) -> str:
    """The first line of a stack, without the number that distinguishes tasks which do the same."""
    return _UNNAMED.sub(" / tasks", first)


def is_beside(first: str) -> bool:
    """Whether the first line of a stack says that it is of a task or thread that works beside the request's own."""
    return _BESIDE.fullmatch(first) is not None


def is_library(line: str) -> bool:
    """Whether a line is a call into a library."""
    return line.partition(".")[0] in _LIBRARIES
