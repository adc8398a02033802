"""Refused activities: counted, and in the log once for each caller."""

import asyncio

import pytest

from activities.store import refused_callers
from activities.store.refused_callers import RefusalReason, RefusalTotals
from tests.activities.rig import ActivityRig
from workflows.domain.events.sessions import CallerRefused
from workflows.domain.ids import SessionId

LOAD = "holdfast.project.load"


async def refuse(rig: ActivityRig, reason: RefusalReason = RefusalReason.FOREIGN, caller: str = "workflow 'x'") -> None:
    await refused_callers.record(rig.database, rig.session, reason, caller, LOAD)


async def callers(rig: ActivityRig) -> list[str]:
    """The refused callers in the log."""
    return [event.caller for event in await rig.events() if isinstance(event, CallerRefused)]


async def test_each_caller_is_in_the_log_once_and_counted_each_time(rig: ActivityRig, postgres_url: str) -> None:
    for caller in ("workflow 'x'", "workflow 'y'", "workflow 'x'"):
        await refuse(rig, caller=caller)
    await refuse(rig, RefusalReason.EPOCH, "run 1")
    assert await callers(rig) == ["workflow 'x'", "workflow 'y'", "run 1"]
    assert await refused_callers.totals(postgres_url) == RefusalTotals(foreign=3, epoch=1, stale=0)


async def test_a_flood_of_callers_is_one_more_event(rig: ActivityRig, postgres_url: str) -> None:
    for number in range(30):
        await refuse(rig, caller=f"workflow {number}")
    assert await callers(rig) == [*(f"workflow {number}" for number in range(20)), "others"]
    assert (await refused_callers.totals(postgres_url)).foreign == 30


async def test_callers_at_once_are_told_apart(rig: ActivityRig) -> None:
    await asyncio.gather(*(refuse(rig, caller=f"workflow {number % 2}") for number in range(6)))
    assert sorted(await callers(rig)) == ["workflow 0", "workflow 1"]


async def test_a_stale_attempt_is_only_counted_for_it_has_an_event_of_its_own(
    rig: ActivityRig, postgres_url: str
) -> None:
    for _ in range(2):
        await refuse(rig, RefusalReason.STALE, "run 1")
    assert await callers(rig) == [] and (await refused_callers.totals(postgres_url)).stale == 2


@pytest.mark.parametrize("session", ["ses_unknown", "", "x" * 5000])
async def test_of_a_session_that_does_not_exist_nothing_is_kept(rig: ActivityRig, session: str) -> None:
    await refused_callers.record(rig.database, SessionId(session), RefusalReason.FOREIGN, "workflow 'x'", LOAD)
    assert await rig.database.rows(b"SELECT * FROM refusal") == []
