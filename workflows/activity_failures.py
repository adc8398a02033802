"""What a failed activity's error says."""

from temporalio.exceptions import ActivityError, ApplicationError, FailureError, is_cancelled_exception

from workflows.domain.errors import HoldfastError, StaleFence


def is_stale(error: FailureError) -> bool:
    """Whether a later load or attempt has overtaken the activity."""
    return has_type(error, StaleFence)


def has_type(error: FailureError, kind: type[HoldfastError]) -> bool:
    """Whether the failure is of this type. A local activity's error is not wrapped on replay."""
    cause = error.cause if isinstance(error, ActivityError) else error
    return isinstance(cause, ApplicationError) and cause.type == kind.__name__


def is_overflow(error: ActivityError) -> bool:
    """Whether the provider has refused a step's context as too long."""
    return isinstance(error.cause, ApplicationError) and error.cause.type == "ContextOverflow"


def failure_text(error: ActivityError) -> str:
    """The text for people. Re-raises a cancellation."""
    if is_cancelled_exception(error):
        raise error
    cause = error.cause
    if not isinstance(cause, ApplicationError):
        return str(cause or error)[:2000]
    return cause.message[:2000]  # str() would begin with the name of its class
