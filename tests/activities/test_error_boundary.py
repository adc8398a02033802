"""The edge of activities: errors leave it short, redacted, and without causes."""

from datetime import timedelta
from typing import Any

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput

from activities.error_boundary import MAX_ERROR_CHARS, ErrorBoundaryInterceptor, storable_text
from activities.redact import Redactor
from tests.activities.conftest import Arm

SECRET = "hunter2hunter2"


class Failing(ActivityInboundInterceptor):
    """An activity that raises."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        raise self.error from RuntimeError("the cause")


class Counting(ActivityInboundInterceptor):
    """An activity that counts its executions."""

    def __init__(self) -> None:
        self.times = 0

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        self.times += 1


async def leaving(error: Exception) -> ApplicationError:
    """The error that leaves an activity that raises this one."""
    edge = ErrorBoundaryInterceptor(Redactor(lambda: [SECRET])).intercept_activity(Failing(error))

    with pytest.raises(ApplicationError) as left:
        await ActivityEnvironment().run(edge.execute_activity, nothing())
    return left.value


def nothing() -> ExecuteActivityInput:
    return ExecuteActivityInput(fn=lambda: None, args=(), executor=None, headers={})


async def test_an_error_leaves_with_its_kind_and_without_its_cause() -> None:
    left = await leaving(KeyError("a.txt"))
    assert (left.message, left.type, left.non_retryable, left.__cause__) == ("'a.txt'", "KeyError", False, None)


async def test_an_application_error_keeps_its_message() -> None:
    pause = timedelta(seconds=42)
    left = await leaving(ApplicationError("busy", type="ProviderFailed", next_retry_delay=pause))
    assert (left.message, left.type, left.next_retry_delay, left.__cause__) == ("busy", "ProviderFailed", pause, None)
    assert (await leaving(ApplicationError("no", type="ModelFailed", non_retryable=True))).non_retryable


@pytest.mark.parametrize("kind", [ValueError, ApplicationError])
async def test_no_secret_leaves(kind: type[Exception]) -> None:
    assert SECRET not in (await leaving(kind(f"cannot log in with {SECRET}"))).message


def test_any_text_becomes_one_that_every_store_takes() -> None:
    assert storable_text("a\x00b \ud800") == "a\ufffdb ?"
    assert len(storable_text("x" * 10_000)) == MAX_ERROR_CHARS


@pytest.mark.parametrize(("form", "carried_out"), [("drop", 0), ("ambiguous", 1)])
async def test_an_activity_that_is_lost_is_one_to_try_again(arm: Arm, form: str, carried_out: int) -> None:
    arm(f"external.activity:unknown={form}")
    counting = Counting()
    edge = ErrorBoundaryInterceptor(Redactor(lambda: [])).intercept_activity(counting)
    with pytest.raises(ApplicationError, match="have lost each other") as left:
        await ActivityEnvironment().run(edge.execute_activity, nothing())
    assert (counting.times, left.value.non_retryable) == (carried_out, False)
