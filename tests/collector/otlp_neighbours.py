"""Services that report by OpenTelemetry's own SDK and exporters: neighbours that are not ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import grpc
from opentelemetry.exporter.otlp.json.http import OTLPMetricExporter as JsonMetrics
from opentelemetry.exporter.otlp.json.http import OTLPSpanExporter as JsonSpans
from opentelemetry.exporter.otlp.json.http._log_exporter import OTLPLogExporter as JsonLogs
from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter as GrpcLogs
from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter as GrpcMetrics
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcSpans
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter as HttpLogs
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter as HttpMetrics
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpSpans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from kit.loop_thread import LoopThread
from swagent.collector.server import Collector

WAYS = ("grpc", "grpc-gzip", "http", "http-gzip", "json", "json-gzip")
_EXPORTERS: dict[tuple[str, str], Any] = {
    ("grpc", "traces"): GrpcSpans,
    ("grpc", "logs"): GrpcLogs,
    ("grpc", "metrics"): GrpcMetrics,
    ("http", "traces"): HttpSpans,
    ("http", "logs"): HttpLogs,
    ("http", "metrics"): HttpMetrics,
    ("json", "traces"): JsonSpans,
    ("json", "logs"): JsonLogs,
    ("json", "metrics"): JsonMetrics,
}


@contextmanager
def collecting(token: str = "") -> Iterator[Collector]:
    """A collector in a thread, with its port of HTTP."""
    collector = Collector(http_port=0, token=token)
    with LoopThread() as thread:
        thread.run(collector.start)
        try:
            yield collector
        finally:
            thread.run(collector.stop)


def exporter(way: str, signal: str, collector: Collector, **settings: Any) -> Any:
    """OpenTelemetry's exporter of a signal to a collector."""
    protocol, _, gzip = way.partition("-")
    kind = _EXPORTERS[protocol, signal]
    if protocol == "grpc":
        compression: Any = grpc.Compression.Gzip if gzip else grpc.Compression.NoCompression
        return kind(endpoint=f"http://{collector.address}", insecure=True, compression=compression, **settings)
    endpoint = f"http://{collector.http_address}/v1/{signal}"
    if protocol == "json":
        from opentelemetry.exporter.otlp.common.http import Compression as JsonCompression  # noqa: PLC0415, RUF100

        return kind(endpoint, compression=JsonCompression.GZIP if gzip else None, **settings)
    return kind(endpoint, compression=Compression.Gzip if gzip else Compression.NoCompression, **settings)


@contextmanager
def tracing(collector: Collector, service: str, way: str = "http", **settings: Any) -> Iterator[Any]:
    """A service's tracer, whose spans have arrived at the end."""
    attributes = {"service.name": service, "service.instance.id": f"{service}-1", "deployment.environment.name": "test"}
    provider = TracerProvider(resource=Resource(attributes))
    provider.add_span_processor(SimpleSpanProcessor(exporter(way, "traces", collector, **settings)))
    try:
        yield provider.get_tracer("neighbour", "1.0")
    finally:
        provider.shutdown()
