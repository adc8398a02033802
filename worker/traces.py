"""OpenTelemetry traces: Temporal's spans, with ids, but no contents, on those of activities."""

from typing import Any, Final

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from temporalio.client import Interceptor as ClientInterceptor
from temporalio.contrib.opentelemetry import TracingInterceptor
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput

_ID_FIELDS: Final = ("session", "turn", "step", "call", "ask", "epoch", "sequence")  # of requests: ids and numbers


class Traces:
    """Sends spans; rejected ones are lost and delay nothing."""

    def __init__(self, endpoint: str) -> None:
        self._provider = TracerProvider(resource=Resource.create({"service.name": "holdfast"}))
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint)))

    @property
    def interceptor(self) -> ClientInterceptor:
        """For a worker's client, and so for the worker."""
        return _Tracing(self._provider.get_tracer("holdfast"), always_create_workflow_spans=True)

    def close(self) -> None:
        self._provider.shutdown()


class _Tracing(TracingInterceptor):
    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        return super().intercept_activity(_IdAttributes(next))


class _IdAttributes(ActivityInboundInterceptor):
    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        span = trace.get_current_span()
        for name in _ID_FIELDS:
            if (value := getattr(input.args[0], name, None)) is not None:
                span.set_attribute(f"holdfast.{name}", value)
        return await super().execute_activity(input)
