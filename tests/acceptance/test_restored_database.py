"""PostgreSQL's files put back from a while ago, Temporal newer: what a session has done since is not done again."""

import shutil
import subprocess
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from tests.acceptance.scenarios import DONE, held, runs
from tests.acceptance.stack_parts import servers_down
from tests.acceptance.stacks import OwnStack
from tests.acceptance.trial import Trial
from tests.harness import wait_for_file
from tests.polling import attempts
from worker.scripted.script import Script
from worker.stack.database_checks import check_repairs
from worker.stack.state_file import PartName
from workflows.domain.ids import SessionId
from workflows.domain.suspension import SuspendReason
from workflows.domain.views.sessions import Overview

pytestmark = pytest.mark.acceptance

PERIOD: Final = 1.0  # seconds instead of 30
IDLE: Final = 1.0  # seconds until a run without work completes, instead of five minutes
ASKED: Final = ("untouched", "answered", "running", "closed")
WORKING: Final = ("steps", "thinking", "over")
REQUESTS: Final = {"untouched": 2, "steps": 3, "answered": 2, "running": 1, "closed": 2, "thinking": 2, "over": 2}


def scripts(gate: Path) -> Mapping[str, Script]:
    return {
        "untouched": Script(answers=(runs("untouched"), DONE)),
        "steps": Script(
            answers=(runs("steps", hold=True), runs("steps-2", "steps-3"), runs("steps-4", hold=True), DONE)
        ),
        "answered": Script(answers=(runs("answered"), runs("answered-2"), DONE)),
        "closed": Script(answers=(runs("closed"), DONE)),
        "over": Script(answers=(runs("over", hold=True), DONE)),
        "running": Script(answers=(runs("running", hold=True), DONE)),
        "thinking": Script(answers=(runs("thinking", hold=True), held(gate))),
    }


@pytest.mark.parametrize("worker_too", [False, True])
async def test_nothing_is_done_again_behind_a_database_that_was_put_back(
    own_stack: OwnStack, tmp_path: Path, worker_too: bool
) -> None:
    gate = tmp_path / "gate"
    async with own_stack.trial(scripts(gate), tmp_path / "trial", reconcile_seconds=PERIOD, idle_seconds=IDLE) as trial:
        trial.harness.configure(permission={"bash": {"*": "allow"} | {f"effect {name}*": "ask" for name in ASKED}})
        worker = await trial.worker()
        sessions = {name: await trial.start_session(f"[[script:{name}]] Run it.") for name in scripts(gate)}
        for name in ASKED:
            await trial.harness.wait_for_asks(sessions[name])
        for name in WORKING:
            await trial.effects.reached(name)
        async with servers_down(own_stack.settings, PartName.POSTGRES):
            _copy(own_stack.cluster.data, tmp_path / "data")
        await go_on(trial, sessions, gate)
        if worker_too:
            await worker.kill()
        async with servers_down(own_stack.settings, PartName.POSTGRES):
            shutil.rmtree(own_stack.cluster.data)
            _copy(tmp_path / "data", own_stack.cluster.data)
        effects = {*(line.token for line in trial.effects.lines()), "untouched"}
        if worker_too:
            await trial.worker()
        gate.touch()
        for name in ("running", "steps-4"):
            trial.effects.release(name)
        for name in ("untouched", "answered", "closed"):  # all ask again; the runs of two know an answer
            await answer(trial, sessions[name])
        await trial.harness.ended(sessions["untouched"])
        suspended = {name: await suspended_session(trial, sessions[name]) for name in sessions if name != "untouched"}
        assert {name: trial.effects.count(name) for name in effects} == dict.fromkeys(effects, 1)
        assert Counter(entry.script for entry in trial.harness.model.ledger.entries) == REQUESTS
        for overview in suspended.values():
            assert overview.suspension is not None
            assert overview.suspension.reason is SuspendReason.BEHIND
            assert int(overview.suspension.was or 0) > int(overview.suspension.now or 0) > 0
        _, found, remedy = await check_repairs(own_stack.settings, trial.harness.endpoints.postgres_url)
        assert found == "sessions that were put back with the database, behind what they have done: 6", found
        assert "holdfast asks" in remedy
        await trial.harness.client.resume(sessions["steps"])
        await trial.effects.reached("steps-2", times=2)


async def go_on(trial: Trial, sessions: Mapping[str, SessionId], gate: Path) -> None:
    """What is lost: steps, answers, a claim, an answer that is read."""
    for name in ("answered", "running", "closed"):
        await answer(trial, sessions[name])
    for name in WORKING:
        trial.effects.release(name)
    for name in ("steps-4", "running"):
        await trial.effects.reached(name)
    await wait_for_file(gate)
    await trial.effects.reached("answered")
    await trial.harness.until(sessions["answered"], lambda event: event.type == "ask.raised", 2)
    for name in ("closed", "over"):
        await trial.harness.ended(sessions[name])
        async for _ in attempts():
            if await trial.asleep(sessions[name]):
                break
    await claim_reported(trial, sessions["running"])


async def claim_reported(trial: Trial, session: SessionId) -> None:
    """Wait until the worker has told Temporal which event it knows of."""
    claimed = len(await trial.harness.events(session))
    async for _ in attempts():
        run = (await trial.harness.workflow(session).describe()).raw_description
        reported = [each.heartbeat_details.payloads for each in run.pending_activities]
        if any(len(each) == 3 and int(each[1].data) == claimed for each in reported):
            return


async def answer(trial: Trial, session: SessionId) -> None:
    (ask,) = await trial.harness.wait_for_asks(session)
    await trial.recording_client.answer(ask)


async def suspended_session(trial: Trial, session: SessionId) -> Overview:
    await trial.listed(session, lambda overview: overview.suspension is not None)
    return await trial.harness.client.sessions.get(session)


def _copy(data: Path, to: Path) -> None:
    """With owners and modes."""
    subprocess.run(["cp", "-a", str(data), str(to)], check=True)
