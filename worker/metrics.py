"""Prometheus metrics from committed events and the database.

No label is unbounded, such as an id. Temporal's SDK serves its own at the next port.
"""

import logging
from http import HTTPStatus
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, start_http_server
from temporalio.runtime import PrometheusConfig, Runtime, TelemetryConfig

from activities.store import statistics
from activities.store.database import Database
from worker.background_tasks import every
from workflows.domain.errors import Unavailable, UsageError
from workflows.domain.events.asks import AskRaised
from workflows.domain.events.calls import CallFinished, WriteRefused
from workflows.domain.events.event import Event
from workflows.domain.events.generations import MessageCompleted, ModelRetry
from workflows.domain.events.turns import TurnEnded
from workflows.domain.usage import Cost

INTERVAL: Final = 5.0  # seconds between database reads
_NAMESPACE: Final = "holdfast"
_STATUSES: Final = frozenset(str(status.value) for status in HTTPStatus)
_LOG: Final = logging.getLogger("holdfast.metrics")


def runtime(host: str, port: int) -> Runtime:
    """Serves the SDK's metrics at the port above ours. Raises UsageError if it is taken."""
    address = f"{host}:{port + 1}"
    config = PrometheusConfig(
        bind_address=address, counters_total_suffix=True, unit_suffix=True, durations_as_seconds=True
    )
    try:
        return Runtime(telemetry=TelemetryConfig(metrics=config))
    except ValueError as error:
        raise _port_taken(address) from error


class Metrics:
    def __init__(self, database: Database) -> None:
        self.registry = CollectorRegistry()
        self._database = database
        self._steps = self._counter("steps", "Steps whose answers were stored.")
        self._tokens = self._counter("tokens", "Tokens of all stored answers, as the providers counted them.", "kind")
        self._cost = self._counter("cost_dollars", "What they cost, in US dollars, as far as it is known.")
        self._unpriced = self._counter("steps_unpriced", "Stored answers whose cost is not known.")
        self._retries = self._counter("model_retries", "Failures of providers that are waited out.", "kind")
        self._calls = self._counter("calls", "Calls of tools that were settled.", "state")
        self._turns = self._counter("turns", "Turns that have ended.", "reason")
        self._asks = self._counter("asks", "Asks that were raised.")
        self._refused = self._counter("writes_refused", "Writes of overtaken attempts that were refused.")
        for kind in ("network", "other"):  # start at 0: growth from nothing does not count
            self._retries.labels(kind)
        for state in ("done", "failed", "unknown", "cancelled", "refused"):
            self._calls.labels(state)
        self._database_up = self._gauge("database_up", "Whether PostgreSQL answers.")
        self._gauges = {
            "asks": self._gauge("asks_open", "Asks that wait for an answer, in all sessions."),
            "oldest_ask_seconds": self._gauge("asks_oldest_seconds", "How long the oldest of them has waited."),
            "turns": self._gauge("turns_open", "Turns that are at work, or wait."),
            "prompts": self._gauge("prompts_pending", "Prompts that no turn has taken yet."),
            "suspended": self._gauge("sessions_suspended", "Sessions that go on when a person says so."),
            "stuck": self._gauge("sessions_stuck", "Sessions that cannot go on."),
        }

    def serve(self, host: str, port: int) -> None:
        """Answer scrapes on a library thread. Raises UsageError if the port is taken."""
        try:
            start_http_server(port, host, self.registry)
        except OSError as error:
            raise _port_taken(f"{host}:{port}") from error
        self._database.on_commit = self.count

    def count(self, event: Event) -> None:
        match event:
            case MessageCompleted(turn=turn, tokens=tokens, cost=cost):
                self._steps.inc(0 if turn is None else 1)
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
        await every(INTERVAL, self.update, _LOG)

    async def update(self) -> None:
        """Read all sessions' states; an unreachable database has its own gauge."""
        try:
            stats = await statistics.read_queue_stats(self._database)
        except Unavailable:
            self._database_up.set(0)
            return
        self._database_up.set(1)
        for name, gauge in self._gauges.items():
            gauge.set(getattr(stats, name))

    def _counter(self, name: str, help: str, *labels: str) -> Counter:
        return Counter(name, help, labels, namespace=_NAMESPACE, registry=self.registry)

    def _gauge(self, name: str, help: str) -> Gauge:
        return Gauge(name, help, namespace=_NAMESPACE, registry=self.registry)


def _port_taken(address: str) -> UsageError:
    return UsageError(
        f"Metrics cannot be served at {address}: choose a free HOLDFAST_METRICS_PORT; the next is used, too."
    )
