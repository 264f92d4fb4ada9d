"""The application under each agent, as a server loads it: `uvicorn --factory applications:bare`.

Each agent is set up as its own documentation has it, with its defaults; where it sends to is said by its environment
variables. Each is imported in its own environment only.
"""

from __future__ import annotations

from typing import Any

import httpx
from handlers import build


def bare() -> Any:
    """No agent."""
    return build()


def swagent() -> Any:
    """swagent by its middleware alone, without instrumentations: the span of the outgoing call is made by hand."""
    from swagent import exit_span, local_span
    from swagent.asgi import SkyWalkingMiddleware

    async def fetch(client: httpx.AsyncClient, url: str) -> None:
        address = httpx.URL(url)
        with exit_span(f"GET:{address.path}", peer=address.netloc.decode()) as span:
            await client.get(url, headers=span.headers())

    return SkyWalkingMiddleware(build(local_span, fetch))


def official() -> Any:
    """The official agent, with its plugins for FastAPI, httpx and logging; sync or async as its environment says."""
    from skywalking import agent
    from skywalking.trace.context import get_context

    agent.start()
    return build(lambda name: get_context().new_local_span(op=name))


def otel() -> Any:
    """The OpenTelemetry SDK with its instrumentation of FastAPI, httpx and logging, in batches over OTLP gRPC."""
    from opentelemetry import trace
    from opentelemetry._logs import set_logger_provider
    from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
    from opentelemetry.instrumentation.fastapi import FastAPIInstrumentor
    from opentelemetry.instrumentation.httpx import HTTPXClientInstrumentor
    from opentelemetry.instrumentation.logging import LoggingInstrumentor
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    spans, logs = TracerProvider(), LoggerProvider()
    spans.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    logs.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter()))
    trace.set_tracer_provider(spans)
    set_logger_provider(logs)
    HTTPXClientInstrumentor().instrument()
    app = build(trace.get_tracer("compared").start_as_current_span)
    LoggingInstrumentor().instrument()  # after the application has set up its logging
    FastAPIInstrumentor.instrument_app(app)
    return app
