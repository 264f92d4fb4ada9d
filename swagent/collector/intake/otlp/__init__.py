"""OTLP in: spans, log records and metrics of services that report as OpenTelemetry's SDKs do, over gRPC and HTTP."""
