"""Sessions at work when the stack boots anew."""

import pytest

from tests.harness import Harness
from tests.workflows.test_schedules import made
from worker.settings import ResumePolicy
from worker.startup_suspension import suspend_all, suspend_restored
from workflows.domain.schedules.decision import ScheduleState
from workflows.domain.suspension import SuspendReason


@pytest.mark.parametrize(
    ("policy", "reason", "said"),
    [
        (ResumePolicy.ASK, SuspendReason.RESTART, "`holdfast asks`"),
        (ResumePolicy.NEVER, SuspendReason.KEPT, "`holdfast resume SESSION`"),
    ],
)
async def test_sessions_with_work_are_suspended_once_and_the_rest_is_left_alone(
    harness: Harness, policy: ResumePolicy, reason: SuspendReason, said: str
) -> None:
    busy, idle = await harness.start_session("Go on."), await harness.start_session("Nothing more.")
    await harness.client.stop(idle)
    told: list[str] = []
    settings = harness.settings.model_copy(update={"resume": policy})
    for _ in range(2):
        await suspend_all(settings, harness.endpoints.postgres_url, told.append)
    (parked,) = await harness.client.inbox.suspended()
    assert (parked.session, parked.reason) == (busy, reason)
    assert len(told) == 1 and "when the stack stopped: 1." in told[0] and said in told[0]


async def test_what_a_backup_brings_back_begins_nothing_by_itself(harness: Harness) -> None:
    busy, schedule = await harness.start_session("Go on."), await made(harness)
    reported: list[str] = []
    for _ in range(2):
        await suspend_restored(harness.endpoints.postgres_url, reported.append)
    (suspended,) = await harness.client.inbox.suspended()
    paused = await harness.client.schedules.get(schedule.id)
    assert (suspended.session, suspended.reason) == (busy, SuspendReason.RESTORED)
    assert (paused.state, paused.note) == (ScheduleState.PAUSED, "restored from a backup")
    assert len(reported) == 2 and "`holdfast schedules resume`" in reported[0]
