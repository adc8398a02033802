"""Metrics for Prometheus: counted from the events that this worker commits, and looked up in the database.

No label holds an id, or anything else that grows with the work. Temporal's SDK serves its own at the next port.
"""

import asyncio
import logging
from http import HTTPStatus
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, start_http_server
from temporalio.runtime import PrometheusConfig, Runtime, TelemetryConfig

from activities.store import standings
from activities.store.database import Database
from worker.settings import Settings
from workflows.domain.errors import Unavailable, UsageError
from workflows.domain.events import (
    AskRaised,
    CallFinished,
    MessageCompleted,
    ModelRetry,
    Record,
    TurnEnded,
    WriteRefused,
)
from workflows.domain.usage import Cost

EVERY: Final = 5.0  # seconds between two looks into the database
_OURS: Final = "holdfast"
_STATUSES: Final = frozenset(str(status.value) for status in HTTPStatus)
_LOG: Final = logging.getLogger("holdfast.metrics")


def runtime(settings: Settings) -> Runtime | None:
    """What Temporal's SDK runs in when its metrics are wanted: it serves them one port above ours.

    Raises UsageError for a port that is taken.
    """
    if settings.metrics_port is None:
        return None
    address = f"{settings.metrics_host}:{settings.metrics_port + 1}"
    config = PrometheusConfig(
        bind_address=address, counters_total_suffix=True, unit_suffix=True, durations_as_seconds=True
    )
    try:
        return Runtime(telemetry=TelemetryConfig(metrics=config))
    except ValueError as error:
        raise _taken(address) from error


class Metrics:
    """Counts events, and looks up how all sessions stand."""

    def __init__(self, database: Database) -> None:
        self.registry = CollectorRegistry()
        self._database = database
        self._steps = self._counter("steps", "Answers of models that were stored.")
        self._tokens = self._counter("tokens", "Tokens of those answers, as the providers counted them.", "kind")
        self._cost = self._counter("cost_dollars", "What those answers cost, in US dollars, as far as it is known.")
        self._unpriced = self._counter("steps_unpriced", "Those answers whose cost is not known.")
        self._retries = self._counter("model_retries", "Failures of providers that are waited out.", "kind")
        self._calls = self._counter("calls", "Calls of tools that were settled.", "state")
        self._turns = self._counter("turns", "Turns that have ended.", "reason")
        self._asks = self._counter("asks", "Asks that were raised.")
        self._refused = self._counter("writes_refused", "Writes of overtaken attempts that were refused.")
        for kind in ("network", "other"):  # what has not happened yet is 0: growth from nothing is no growth
            self._retries.labels(kind)
        for state in ("done", "failed", "unknown", "cancelled", "refused"):
            self._calls.labels(state)
        self._reached = self._gauge("database_up", "Whether PostgreSQL answers.")
        self._gauges = {
            "asks": self._gauge("asks_open", "Asks that wait for an answer, in all sessions."),
            "oldest": self._gauge("asks_oldest_seconds", "How long the oldest of them has waited."),
            "turns": self._gauge("turns_open", "Turns that are at work, or wait."),
            "prompts": self._gauge("prompts_untaken", "Prompts that no turn has taken yet."),
            "parked": self._gauge("sessions_parked", "Sessions that go on when a person says so."),
            "stuck": self._gauge("sessions_stuck", "Sessions that cannot go on."),
        }

    def serve(self, settings: Settings) -> None:
        """Answer scrapes, on a thread of the library. Raises UsageError for a port that is taken."""
        assert settings.metrics_port is not None
        try:
            start_http_server(settings.metrics_port, settings.metrics_host, self.registry)
        except OSError as error:
            raise _taken(f"{settings.metrics_host}:{settings.metrics_port}") from error
        self._database.told = self.count

    def count(self, record: Record) -> None:
        """Count an event that was committed."""
        match record.event:
            case MessageCompleted(tokens=tokens, cost=cost):
                self._steps.inc()
                spent = Cost.of(cost)
                self._cost.inc(float(spent.dollars))
                self._unpriced.inc(spent.unpriced)
                for kind in ("input", "output", "reasoning", "cache_read", "cache_write"):
                    self._tokens.labels(kind).inc(getattr(tokens, kind))
            case ModelRetry(kind=kind):
                self._retries.labels(kind if kind in _STATUSES or kind == "network" else "other").inc()
            case CallFinished(state=state):
                self._calls.labels(state).inc()
            case TurnEnded(reason=reason):
                self._turns.labels(reason).inc()
            case AskRaised():
                self._asks.inc()
            case WriteRefused():
                self._refused.inc()

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            try:
                await self.look()
                self._reached.set(1)
            except Unavailable:
                self._reached.set(0)
            except Exception:  # nobody would notice its end
                _LOG.exception("not looked")
            await asyncio.sleep(EVERY)

    async def look(self) -> None:
        """Raises Unavailable."""
        standing = await standings.now(self._database)
        for name, gauge in self._gauges.items():
            gauge.set(getattr(standing, name))

    def _counter(self, name: str, help: str, *labels: str) -> Counter:
        return Counter(name, help, labels, namespace=_OURS, registry=self.registry)

    def _gauge(self, name: str, help: str) -> Gauge:
        return Gauge(name, help, namespace=_OURS, registry=self.registry)


def _taken(address: str) -> UsageError:
    return UsageError(
        f"Metrics cannot be served at {address}: choose a free HOLDFAST_METRICS_PORT; the next is used, too."
    )
