"""Timeouts and retries by kind of activity.

No schedule-to-start or schedule-to-close timeouts: they would run on without a worker.
"""

from datetime import timedelta
from typing import Final

from temporalio.common import RetryPolicy
from temporalio.workflow import ActivityCancellationType, ActivityConfig, LocalActivityConfig

from workflows.domain.ids import PartId
from workflows.domain.state import TurnLimits

# A retry would meet the same oversized value or changed rows.
NON_RETRYABLE_ERRORS: Final = ["PayloadsTooLarge", "PayloadSizeError", "StaleFence", "NotFound"]

# For crashes only: a provider's failure has its own delay (design 4).
_CRASH_RETRY: Final = RetryPolicy(
    initial_interval=timedelta(seconds=0.2),
    backoff_coefficient=2.0,
    maximum_interval=timedelta(seconds=2),
    non_retryable_error_types=NON_RETRYABLE_ERRORS,
)
_OUTAGE_RETRY: Final = RetryPolicy(
    initial_interval=timedelta(seconds=1),
    backoff_coefficient=1.5,
    maximum_interval=timedelta(seconds=5),
    non_retryable_error_types=NON_RETRYABLE_ERRORS,
)

# For work that nothing waits for: it may be given up.
_ASIDE_RETRY: Final = RetryPolicy(
    initial_interval=timedelta(seconds=1),
    backoff_coefficient=2.0,
    maximum_attempts=3,
    non_retryable_error_types=NON_RETRYABLE_ERRORS,
)

_QUICK_TIMEOUT: Final = timedelta(seconds=1)  # 20 sessions at a load of 5 took less; a stop may wait for it


def model(limits: TurnLimits, summary: str) -> ActivityConfig:
    """Ends earlier by its own idle timeouts."""
    return _config(_CRASH_RETRY, limits.model_timeout, summary, heartbeat=limits.heartbeat)


def aside(limits: TurnLimits, summary: str) -> ActivityConfig:
    """For short answers of a model, which the session can do without."""
    return _config(_ASIDE_RETRY, 120.0, summary, heartbeat=limits.heartbeat)


def tool(limits: TurnLimits, summary: str) -> ActivityConfig:
    """Ends earlier by the tool's own time limit."""
    return _config(_CRASH_RETRY, limits.tool_timeout, summary, heartbeat=limits.heartbeat)


def quick_tool(call: PartId, summary: str) -> LocalActivityConfig:
    """Once, within the workflow task; if it fails, the call runs as an activity."""
    return LocalActivityConfig(
        activity_id=call,  # history keeps no request
        start_to_close_timeout=_QUICK_TIMEOUT,
        retry_policy=RetryPolicy(maximum_attempts=1),
        cancellation_type=ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
        summary=summary,
    )


def project(limits: TurnLimits, summary: str) -> ActivityConfig:
    return _config(_OUTAGE_RETRY, 60.0, summary, heartbeat=limits.heartbeat)


def store(limits: TurnLimits, summary: str) -> ActivityConfig:
    """Retried while the database is away. Short: it sends no heartbeats."""
    return _config(_OUTAGE_RETRY, 5.0, summary)


def schedule(summary: str) -> ActivityConfig:
    """As `store`; a schedule has no limits of its own."""
    return _config(_OUTAGE_RETRY, 5.0, summary)


def close(limits: TurnLimits, summary: str) -> ActivityConfig:
    """May end process groups first."""
    return _config(_OUTAGE_RETRY, 120.0, summary, heartbeat=limits.heartbeat)


def _config(retry: RetryPolicy, seconds: float, summary: str, heartbeat: float | None = None) -> ActivityConfig:
    config = ActivityConfig(
        start_to_close_timeout=timedelta(seconds=seconds),
        retry_policy=retry,
        cancellation_type=ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
        summary=summary,
    )
    if heartbeat is not None:
        config["heartbeat_timeout"] = timedelta(seconds=heartbeat)
    return config
