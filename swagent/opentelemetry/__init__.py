"""Turns the spans of OpenTelemetry instrumentations into native segments: `from swagent.opentelemetry import install`.

Theory of operation
-------------------
OpenTelemetry's instrumentations know an API, and not what is behind it. The bridge is there, in place of an SDK:
a provider whose spans are swagent's own (`provider.py`, `span.py`), and a context that is swagent's context variable
(`runtime_context.py`). So there is one truth of what is active: native spans and bridged ones are each other's parents,
in one segment, and a call's headers are those of the span that is sent.

A bridged span keeps its attributes as they come. When it ends they are read once, by both the old and the stable
conventions (`conventions.py`, `peers.py`, `tags.py`). A span that duplicates a native one is recorded once
(`duplicates.py`).

A fault of an instrumentation, or one in here, costs the span and never the application's call.
"""

from .installation import install as install
from .installation import report as report
from .installation import uninstall as uninstall
