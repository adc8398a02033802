"""What must hold in production: the reference session, a worker's death, a rolling restart."""

import signal
from typing import Final

from tests.acceptance.nth import reference_session
from tests.acceptance.scenarios import DONE, runs
from tests.acceptance.trial import Trial
from tests.acceptance.workers import WorkerProcess
from tests.polling import wait_until
from worker.scripted.script import Script
from workflows.domain.ids import SessionId

SESSIONS: Final = 4  # at work while the workers are restarted
WASTED: Final = reference_session.REFUSED + 2 * SESSIONS  # requests that a killed or restarted worker may have lost
_OF_TIME: Final = "I9"  # recovery times are measured elsewhere
_KILLED: Final = "killed"


def scripts() -> dict[str, Script]:
    """The model's answers in all scenes."""
    rolling = {
        name: Script(answers=(runs(f"{name}-1"), runs(f"{name}-2", hold=True), runs(f"{name}-3"), DONE))
        for name in _rolling()
    }
    return {**reference_session.scripts(), _KILLED: Script(answers=(runs(_KILLED, hold=True), DONE)), **rolling}


def _rolling() -> list[str]:
    return [f"rolling{number}" for number in range(SESSIONS)]


async def play_reference_session(trial: Trial) -> None:
    """An edit, a question, a steered prompt, a subagent, a provider that refuses once."""
    await reference_session.play(trial)


async def kill_one(trial: Trial) -> None:
    """Kill the worker that runs a command; the other follows the command to its end."""
    session = await trial.start_session(f"[[script:{_KILLED}]] Run it.")
    await trial.effects.reached(_KILLED)
    for worker in list(trial.workers):
        if not worker.ended:
            await worker.kill()  # whichever of the two has it
            await trial.worker()
    trial.effects.release(_KILLED)
    await trial.harness.ended(session)


async def rolling_restart(trial: Trial) -> list[int]:
    """Each worker gets SIGTERM when its successor works, with sessions amid commands; the exit codes."""
    sessions = [await trial.start_session(f"[[script:{name}]] Run them.") for name in _rolling()]
    for name in _rolling():
        await trial.effects.reached(f"{name}-2")
    codes = []
    for worker in [each for each in trial.workers if not each.ended]:
        await trial.worker()
        codes.append(await drained(worker))
    for name in _rolling():
        trial.effects.release(f"{name}-2")
    for session in sessions:
        await trial.harness.ended(session)
    return codes


async def drained(worker: WorkerProcess) -> int:
    worker.process.send_signal(signal.SIGTERM)
    await wait_until(lambda: worker.ended)
    return int(worker.log.with_suffix(".exit").read_text())


async def repeated_effects(trial: Trial) -> list[str]:
    """The effects that did not happen exactly once."""
    tokens = ["asked", "handed", _KILLED, *(f"{name}-{n}" for name in _rolling() for n in (1, 2, 3))]
    return [f"{token}: {trial.effects.count(token)} times" for token in tokens if trial.effects.count(token) != 1]


async def violations(trial: Trial) -> list[str]:
    """Violated invariants (with failed workflow tasks) and effects at the end."""
    found = [str(each) for each in await trial.verdict() if each.invariant != _OF_TIME]
    return found + await repeated_effects(trial)


async def hosts(trial: Trial) -> set[str | None]:
    """The sessions' hosts."""
    sessions: list[SessionId] = []
    sessions += [each.id for each in await trial.harness.client.sessions.list_recent()]
    return {(await trial.harness.client.sessions.get(each)).host for each in sessions}
