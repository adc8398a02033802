"""Observing: metrics and traces of a worker, as far as settings want them; what nobody wants is not even loaded."""

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


class Observing:
    """What a worker's client, database and tasks are given to be observed by. A port that is taken is told in the
    log, and keeps no session from going on."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.runtime: Runtime | None = None
        self._traces: Traces | None = None
        if settings.metrics_port is not None:
            from worker.metrics import runtime  # whoever wants no metrics need not load their library

            try:
                self.runtime = runtime(settings)
            except UsageError as error:
                _LOG.warning("%s", error)
        if settings.traces_endpoint is not None:
            self._traces = _traces(settings.traces_endpoint)

    @property
    def interceptors(self) -> list["Interceptor"]:
        """For the client of the worker."""
        return [self._traces.interceptor] if self._traces else []

    async def run(self, database: Database) -> None:
        """Serve the metrics until cancelled, if they are wanted."""
        if self._settings.metrics_port is None:
            return
        from worker.metrics import Metrics  # as above

        metrics = Metrics(database)
        try:
            metrics.serve(self._settings)
        except UsageError as error:
            _LOG.warning("%s", error)
            return
        await metrics.run()

    async def close(self) -> None:
        """Send the traces that are left."""
        if self._traces:
            await asyncio.to_thread(self._traces.close)


def _traces(endpoint: str) -> "Traces":
    try:
        from worker.traces import Traces  # an extra, which may be missing
    except ImportError as error:
        raise UsageError(
            f"HOLDFAST_TRACES_ENDPOINT is set, and OpenTelemetry is not installed ({error.name}): install "
            "holdfast[traces], or unset it."
        ) from error
    return Traces(endpoint)
