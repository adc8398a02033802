"""Timeouts and retries by kind of activity; the only file with a RetryPolicy.

Nothing has a schedule-to-start or schedule-to-close timeout: both would run on while no worker is there.
"""

from datetime import timedelta
from typing import Final

from temporalio.common import RetryPolicy
from temporalio.workflow import ActivityCancellationType, ActivityConfig, LocalActivityConfig

from workflows.domain.ids import PartId
from workflows.domain.state import Limits

# Trying again is of no use: the engine would pay for the same oversized value again, or the rows have moved on.
FINAL: Final = ["PayloadsTooLarge", "PayloadSizeError", "StaleFence", "NotFound"]

# Of a crash only: a provider's failure brings its own delay along (design 4).
_CRASHES: Final = RetryPolicy(
    initial_interval=timedelta(seconds=0.2),
    backoff_coefficient=2.0,
    maximum_interval=timedelta(seconds=2),
    non_retryable_error_types=FINAL,
)
_DATABASE_AWAY: Final = RetryPolicy(
    initial_interval=timedelta(seconds=1),
    backoff_coefficient=1.5,
    maximum_interval=timedelta(seconds=5),
    non_retryable_error_types=FINAL,
)

# Tools that only look, and are mostly done in milliseconds: what ends late or twice costs nothing but its time.
QUICK: Final = frozenset({"read", "glob", "grep"})
_QUICKLY: Final = timedelta(seconds=1)  # 20 sessions at a load of 5 took less; a stop may have to wait for it


def model(limits: Limits, summary: str) -> ActivityConfig:
    """Asking the model: bounded by its own idle timeouts, this is the last resort."""
    return _config(_CRASHES, limits.generate, summary, heartbeat=limits.heartbeat)


def tool(limits: Limits, summary: str) -> ActivityConfig:
    """Running a call: the tool's own time limit ends it long before."""
    return _config(_CRASHES, limits.effect, summary, heartbeat=limits.heartbeat)


def quick_tool(call: PartId, summary: str) -> LocalActivityConfig:
    """Running one of QUICK as a part of a workflow task, tried once: what fails is run as any other call is."""
    return LocalActivityConfig(
        activity_id=call,  # history keeps no request of it
        start_to_close_timeout=_QUICKLY,
        retry_policy=RetryPolicy(maximum_attempts=1),
        cancellation_type=ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
        summary=summary,
    )


def project(limits: Limits, summary: str) -> ActivityConfig:
    """Reading a directory's configuration."""
    return _config(_DATABASE_AWAY, 60.0, summary, heartbeat=limits.heartbeat)


def store(limits: Limits, summary: str) -> ActivityConfig:
    """One transaction: while the database is away it is tried again. Its time is short, for nothing beats in it."""
    return _config(_DATABASE_AWAY, 5.0, summary)


def close(limits: Limits, summary: str) -> ActivityConfig:
    """Closing a turn: it may have to end process groups first."""
    return _config(_DATABASE_AWAY, 120.0, summary, heartbeat=limits.heartbeat)


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
