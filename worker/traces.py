"""Traces for OpenTelemetry: Temporal's own spans, and on those of activities the ids of what they work for.

No span holds contents. A session's run is a trace: its activities, each attempt of them, are its spans.
"""

from typing import Any, Final

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from temporalio.client import Interceptor as ClientInterceptor
from temporalio.contrib.opentelemetry import TracingInterceptor
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput

_NAMED: Final = ("session", "turn", "step", "call", "ask", "chain", "schedule")  # fields of requests: ids and numbers


class Traces:
    """Spans on their way to a collector. What it does not take is lost, and delays nothing."""

    def __init__(self, endpoint: str) -> None:
        self._provider = TracerProvider(resource=Resource.create({"service.name": "holdfast"}))
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint)))

    @property
    def interceptor(self) -> ClientInterceptor:
        """For the client of a worker, and so for the worker."""
        return _Tracing(self._provider.get_tracer("holdfast"), always_create_workflow_spans=True)

    def close(self) -> None:
        """Send what is left."""
        self._provider.shutdown()


class _Tracing(TracingInterceptor):
    """Temporal's interceptor, and ours within its spans."""

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        return super().intercept_activity(_Named(next))


class _Named(ActivityInboundInterceptor):
    """Writes the ids of a request onto the span of its activity."""

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        span = trace.get_current_span()
        for name in _NAMED:
            if (value := getattr(input.args[0], name, None)) is not None:
                span.set_attribute(f"holdfast.{name}", value)
        return await super().execute_activity(input)
