"""Seconds until sessions heal by themselves, at the default settings: tests lower the periods."""

import asyncio
import tempfile
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from bench.figure_table import Budget, Figure
from tests.acceptance import workers
from tests.acceptance.scenarios import DONE, delegates, runs
from tests.acceptance.stack_parts import servers_down
from tests.acceptance.stacks import OwnStack
from tests.acceptance.test_restored_engine import answer, copy_of, put_back
from tests.acceptance.trial import Trial
from tests.conftest import new_home, settings_of
from tests.harness import Harness
from tests.workflows.session_runs import reset
from tests.workflows.test_foreign_callers import LATER, scheduled
from tests.workflows.test_reconcile import OtherWorkflow, losing, repaired, started_timer
from worker.scripted.script import Script
from worker.settings import Settings
from worker.stack.state_file import PartName
from workflows.domain.ids import SessionId
from workflows.domain.wake_signal import WakeKind

HEALED: Final = Budget(must=120, aim=60)  # seconds
_LONGEST: Final = 300.0  # seconds
_POLL_INTERVAL: Final = 0.2  # seconds
_DEFAULTS: Final = {name: Settings.model_fields[name].default for name in ("idle_seconds", "reconcile_seconds")}
_ASKED: Final = ("answer", "stop", "reset", "foreign", "waiting", "ended", "newer")
_SCRIPTS: Final = {
    **{name: Script(answers=(runs(name), DONE, DONE)) for name in _ASKED},
    **{name: Script(answers=(DONE, DONE)) for name in ("prompt", "clock", "replay")},
    "parent": Script(answers=(delegates("child"), DONE)),
    "child": Script(answers=(runs("child", hold=True), DONE)),
    "working": Script(answers=(runs("working", hold=True), DONE, DONE)),
}
_AHEAD: Final = (
    b"UPDATE session_head SET moved_at = moved_at + '1 hour' WHERE session = %(id)s",
    b"UPDATE turn SET opened_at = opened_at + '1 hour', ended_at = ended_at + '1 hour' WHERE session = %(id)s",
    b"UPDATE work SET accepted_at = accepted_at + '1 hour' WHERE session = %(id)s",
)


async def measure_heals() -> list[Figure]:
    """On a stack of its own: its Temporal is killed, and its file put back."""
    with workers.fork_server() as fork_server, tempfile.TemporaryDirectory(prefix="holdfast-heals-") as scratch:
        async with OwnStack.running(settings_of(new_home()), fork_server) as stack:
            async with stack.trial(_SCRIPTS, Path(scratch) / "signals", **_DEFAULTS) as trial:
                figures = await _signals_and_runs(trial)
            async with stack.trial(_SCRIPTS, Path(scratch) / "restored", **_DEFAULTS) as trial:
                slowest = max(await _restored(trial, stack.settings))
    return [
        *figures,
        Figure("Temporal's file from before put back, to the end of the last turn (s)", slowest, None, HEALED),
    ]


async def _signals_and_runs(trial: Trial) -> list[Figure]:
    """All at once: each waits for periods to pass."""
    harness, begun = trial.harness, {}
    _configure(harness)
    sessions = {"replay": await _unreplayable(harness)}
    await trial.worker()
    begun["replay"] = datetime.now(UTC)
    for name in ("answer", "stop", "reset", "foreign", "prompt", "clock", "parent"):
        sessions[name] = await _begin(trial, name)
    await trial.effects.reached("child")
    begun |= dict.fromkeys(("answer", "stop", "prompt", "clock", "parent"), await _lose(trial, sessions))
    begun["foreign"] = datetime.now(UTC)
    refused = await _call_from_outside(harness, sessions["foreign"])
    begun["reset"] = datetime.now(UTC)
    await reset(harness, sessions["reset"], "holdfast.asks.open")
    for name in ("reset", "foreign"):
        await answer(trial, sessions[name])
    turns = {"prompt": 2, "clock": 2}
    names = [name for name in begun if name != "foreign"]
    ends = await asyncio.gather(*(_ended(harness, sessions[name], turns.get(name, 1)) for name in names))
    await _ended(harness, sessions["foreign"], 1)
    for name in ("answer", "stop", "prompt", "clock", "parent", "replay"):
        assert await repaired(harness, sessions[name]), f"{name}: nothing was lost"
    took = {name: (end - begun[name]).total_seconds() for name, end in zip(names, ends, strict=True)}
    return [
        Figure(
            "signal of an answer lost after its acknowledgement, to the end of the turn (s)",
            took["answer"],
            None,
            HEALED,
        ),
        Figure("  of a prompt", took["prompt"], None, HEALED),
        Figure("  of a stop", took["stop"], None, HEALED),
        Figure("  of a subagent's end", took["parent"], None, HEALED),
        Figure("  of a prompt, after a clock that was an hour ahead", took["clock"], None, HEALED),
        Figure(
            "workflow reset while an ask waits, answered then, to the end of the turn (s)", took["reset"], None, HEALED
        ),
        Figure("run that cannot be replayed, to the end of the turn (s)", took["replay"], None, HEALED),
        Figure("activity called by a foreign workflow, to its refusal (s)", refused, None, HEALED),
    ]


def _configure(harness: Harness) -> None:
    harness.configure(permission={"bash": {"*": "allow"} | {f"effect {name}": "ask" for name in _ASKED}})


async def _begin(trial: Trial, name: str) -> SessionId:
    """A session that waits for an answer, works, or has had its turn."""
    session = await trial.start_session(f"[[script:{name}]] Run it.")
    if name in _ASKED:
        await trial.harness.wait_for_asks(session)
    elif name not in ("parent", "working"):
        await trial.harness.ended(session)
    return session


async def _unreplayable(harness: Harness) -> SessionId:
    """A session whose run has another release's history, and no worker."""
    other = Worker(
        harness.temporal,
        task_queue=harness.settings.task_queue,
        workflows=[OtherWorkflow],
        workflow_runner=UnsandboxedWorkflowRunner(),
    )
    async with other:
        session = await harness.start_session("[[script:replay]] Hello?")
        await started_timer(harness, session)
    return session


async def _lose(trial: Trial, sessions: dict[str, SessionId]) -> datetime:
    """Signals that Temporal has acknowledged; when the last was lost."""
    harness = trial.harness
    for query in _AHEAD:
        await harness.database.rows(query, id=sessions["clock"])
    async with losing(harness, WakeKind.ANSWER, WakeKind.WORK, WakeKind.STOP, WakeKind.SETTLED):
        await answer(trial, sessions["answer"])
        await harness.client.stop(sessions["stop"])
        for name in ("prompt", "clock"):
            await harness.client.prompt(sessions[name], "And now?")
        trial.effects.release("child")
        _, child = await harness.client.sessions.tree(sessions["parent"])
        await _ended(harness, child, 1)
        return datetime.now(UTC)


async def _call_from_outside(harness: Harness, session: SessionId) -> float:
    """Seconds until it is refused, and the log says so."""
    begin = datetime.now(UTC)
    (call,) = await harness.calls(session)
    turn = (await harness.client.sessions.get(session)).turn
    request = {"session": session, "epoch": LATER, "sequence": 1, "turn": turn, "call": call.id}
    assert await scheduled(harness, "holdfast.tools.run", request) == "ForeignCaller"
    took = (datetime.now(UTC) - begin).total_seconds()
    assert "caller.refused" in [event.type for event in await harness.events(session)]
    return took


async def _restored(trial: Trial, settings: Settings) -> Iterable[float]:
    """Of sessions that a restored Temporal has forgotten, or knows in an earlier state; from when all serves again."""
    _configure(trial.harness)
    worker = await trial.worker()
    sessions = {name: await _begin(trial, name) for name in ("waiting", "ended", "working")}
    await trial.effects.reached("working")
    copy = copy_of(settings, trial.directory)
    await answer(trial, sessions["ended"])
    trial.effects.release("working")
    for name in ("ended", "working"):
        await trial.harness.ended(sessions[name])
    sessions["newer"] = await _begin(trial, "newer")
    await worker.kill()
    for name in ("waiting", "newer"):
        await answer(trial, sessions[name])
    async with servers_down(settings, PartName.TEMPORAL):
        put_back(settings, copy)
    await trial.worker()
    begin = datetime.now(UTC)
    for name in ("ended", "working"):
        await trial.harness.client.prompt(sessions[name], "And now?")
    turns = {"ended": 2, "working": 2}
    ends = [_ended(trial.harness, session, turns.get(name, 1)) for name, session in sessions.items()]
    return [(end - begin).total_seconds() for end in await asyncio.gather(*ends)]


async def _ended(harness: Harness, session: SessionId, turns: int) -> datetime:
    """When the n-th turn has ended; it may take longer than a test waits."""
    async with asyncio.timeout(_LONGEST):
        while True:
            log = [seen.record async for seen in harness.client.records.log(session)]
            ends = [record.at for record in log if record.event.type == "turn.ended"]
            if len(ends) >= turns:
                return datetime.fromisoformat(ends[turns - 1])
            await asyncio.sleep(_POLL_INTERVAL)
