"""A worker's metrics and traces, loaded only if wanted."""

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from activities.store.database import Database
from worker.settings import Settings
from workflows.domain.errors import UsageError

if TYPE_CHECKING:
    from temporalio.client import Interceptor
    from temporalio.runtime import Runtime

    from worker.traces import Traces

_LOG: Final = logging.getLogger("holdfast.worker")


class Observability:
    """Observes client, database and tasks. A taken port is only logged."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.runtime: Runtime | None = None
        self._traces: Traces | None = None
        if settings.metrics_port is not None:
            from worker.metrics import runtime  # loaded only for metrics

            try:
                self.runtime = runtime(settings.metrics_host, settings.metrics_port)
            except UsageError as error:
                _LOG.warning("%s", error)
        if settings.traces_endpoint is not None:
            self._traces = _traces(settings.traces_endpoint)

    @property
    def interceptors(self) -> list["Interceptor"]:
        return [self._traces.interceptor] if self._traces else []

    async def run(self, database: Database) -> None:
        """Serve metrics until cancelled, if wanted."""
        if self._settings.metrics_port is None:
            return
        from worker.metrics import Metrics  # as above

        metrics = Metrics(database)
        try:
            metrics.serve(self._settings.metrics_host, self._settings.metrics_port)
        except UsageError as error:
            _LOG.warning("%s", error)
            return
        await metrics.run()

    async def close(self) -> None:
        if self._traces:
            await asyncio.to_thread(self._traces.close)


def _traces(endpoint: str) -> "Traces":
    try:
        from worker.traces import Traces  # an optional extra
    except ImportError as error:
        raise UsageError(
            f"HOLDFAST_TRACES_ENDPOINT is set, and OpenTelemetry is not installed ({error.name}): install "
            "holdfast[traces], or unset it."
        ) from error
    return Traces(endpoint)
