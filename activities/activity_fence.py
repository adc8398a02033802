"""The fence of the activity that runs."""

import secrets
from contextvars import ContextVar
from typing import Final

from temporalio import activity

from workflows.domain.wire import Fence, Request

_BITS: Final = 48  # the log holds it as a JSON number
_EXECUTION: Final[ContextVar[int]] = ContextVar("execution")


def fence_of(request: Request) -> Fence:
    """The first call draws the execution's number: make it in the activity's own task."""
    execution = _EXECUTION.get(0)
    if not execution:
        execution = 1 + secrets.randbits(_BITS)
        _EXECUTION.set(execution)
    return Fence(request.epoch, request.sequence, activity.info().attempt, execution)
