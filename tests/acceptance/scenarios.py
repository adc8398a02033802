"""Scenarios shared by a test and the mutant that it must catch."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from activities.cancellation import cancel_and_wait
from activities.failpoints import ARRIVALS
from tests.acceptance.effect_ledger import effect
from tests.acceptance.temporal_proxy import proxy
from tests.acceptance.trial import Trial
from tests.harness import wait_for_file
from tests.polling import attempts, wait_until
from worker.scripted.script import Hold, ScriptedAnswer, ScriptedCall
from workflows.domain.errors import Unavailable
from workflows.domain.ids import AskId, MessageId, SessionId
from workflows.domain.wake_signal import WAKE, Wake, WakeKind

Mutate = Callable[[str, str, str], Path]
DONE = ScriptedAnswer(text="Done.")
EDIT = ScriptedAnswer(
    tools=(ScriptedCall(name="edit", arguments={"filePath": "a.txt", "oldString": "a", "newString": "ab"}),)
)
TO_PATCH = {"a.txt": "a\n", "old.txt": "c\n", "gone.txt": "gone\n"}
PATCH = ScriptedAnswer(
    tools=(
        ScriptedCall(
            name="apply_patch",
            arguments={
                "patchText": "*** Begin Patch\n*** Add File: b.txt\n+b\n*** Update File: old.txt\n"
                "*** Move to: sub/moved.txt\n@@\n c\n+d\n*** Update File: a.txt\n@@\n-a\n+ab\n"
                "*** Delete File: gone.txt\n*** End Patch"
            },
        ),
    )
)
PATCHED = {"a.txt": "ab\n", "b.txt": "b\n", "sub/moved.txt": "c\nd\n"}
SLOW = 8.0  # seconds without a heartbeat: a worker with replaced code is late with its first request
_AGAIN = 0.2  # seconds until a person repeats a refused request
_SHELL = "activities/tools/bash.py"


def runs(*tokens: str, hold: bool = False) -> ScriptedAnswer:
    """An answer that calls commands, each with one countable effect."""
    return ScriptedAnswer(tools=tuple(effect(token, hold=hold) for token in tokens))


def delegates(script: str, **more: bool) -> ScriptedAnswer:
    """An answer that delegates to a subagent, which plays a script."""
    task = {"description": "work", "prompt": f"[[script:{script}]] Do it.", "subagent_type": "general", **more}
    return ScriptedAnswer(tools=(ScriptedCall(name="task", arguments=dict(task)),))


def held(gate: Path, answer: ScriptedAnswer = DONE, *, after: int = 1) -> ScriptedAnswer:
    """An answer that pauses after some chunks until the file `gate` exists, the first time."""
    return answer.model_copy(update={"faults": {1: Hold(after=after, path=str(gate))}})


def project_files(trial: Trial) -> dict[str, str]:
    """All text files, also those that an attempt has left beside them."""
    project = trial.harness.project
    found = [path for path in project.rglob("*") if path.is_file()]
    texts = [path for path in found if path.suffix == ".txt" or ".holdfast-" in str(path)]
    return {str(path.relative_to(project)): path.read_text() for path in texts}


async def send_until_accepted(send: Callable[[], Awaitable[object]]) -> None:
    """Send a request, and the same again while the database is away: it may have been accepted."""
    async for _ in attempts(interval=_AGAIN):
        with suppress(Unavailable):
            await send()
            return


def with_lease_per_attempt(mutate: Mutate) -> Path:
    """Our code with a command for each attempt: only ledger and fence prevent repetition."""
    named = "call=call.id,"  # a part of the name of a command's lease
    return mutate("activities/calls/effect.py", named, 'call=f"{call.id}-{attempt}",')


def with_shell_of_class_once(mutate: Mutate) -> Path:
    """Our code with a shell of the class *once*, which cannot find out what it has done."""
    with_lease_per_attempt(mutate)
    mutate(_SHELL, "async def recover(", "async def recover_not(")
    return mutate(_SHELL, "recovery = Recovery.REATTACHABLE", "recovery = Recovery.ONCE")


async def forged_answer(trial: Trial) -> tuple[SessionId, AskId]:
    """A client with access to Temporal only signals an answer that was never given."""
    session, ask = await trial.asked()
    await trial.harness.workflow(session).signal(WAKE, Wake(kind=WakeKind.ANSWER, subject=ask))
    return session, ask


async def unheard_prompt(trial: Trial) -> MessageId:
    """A client without access to the engine accepts a prompt."""
    session = await trial.played("Hello?")
    async with trial.cut_off() as recording_client:
        accepted = await recording_client.prompt(session, "Are you there?")
    assert not accepted.delivered
    return accepted.prompt


@asynccontextmanager
async def frozen(trial: Trial, point: str, said: str = "Run it.", arrival: int = 1) -> AsyncIterator[SessionId]:
    """A worker is frozen at a point, with another to take over. At the end of the block it wakes as an unaware zombie,
    and carries out another turn, after finishing its interrupted work."""
    first = await trial.worker(faults=f"{point}=stop@{arrival}")
    session = await trial.start_session(said)
    await first.frozen()
    await trial.worker()
    yield session
    await resume_zombie(trial, session)


async def resume_zombie(trial: Trial, session: SessionId) -> None:
    """Let the first worker go on, alone, with another turn."""
    first, *others = trial.workers
    turns = [event.type for event in await trial.harness.events(session)].count("turn.ended")
    first.wake()
    for other in others:
        await other.kill()
    await trial.recording_client.prompt(session, "And now?")
    await trial.harness.ended(session, turns + 1)


@asynccontextmanager
async def cut_off_worker(trial: Trial, point: str, said: str) -> AsyncIterator[SessionId]:
    """A worker loses Temporal at a point, with another to take over. At the end of the block it goes on as an unaware
    zombie."""
    gate = trial.directory / "zombie"
    async with proxy(trial.harness.endpoints.temporal_address) as between:
        await trial.worker(faults=f"{point}=deaf:{gate}@1", temporal_address=between.address)
        session = await trial.start_session(said)
        await wait_for_file(gate)
        between.part()
        await trial.worker()
        yield session
        gate.touch()
        await wait_for_zombie(trial, session)


async def wait_for_zombie(trial: Trial, session: SessionId) -> None:
    """Wait for the zombie's end: its write was refused, or (a violation) made."""
    arrivals = trial.directory / ARRIVALS
    ends = (
        trial.harness.until(session, lambda event: event.type == "write.refused"),
        wait_until(lambda: "tool.committed" in arrivals.read_text()),
    )
    ways: list[asyncio.Task[object]] = [asyncio.create_task(each) for each in ends]
    try:
        await next(asyncio.as_completed(ways))
    finally:
        await cancel_and_wait(*ways)


async def outcome_of_a_zombie(trial: Trial) -> SessionId:
    """Another worker settles a call that a worker without Temporal has carried out."""
    async with cut_off_worker(trial, "tool.effect_done", "Run it.") as session:
        await trial.harness.ended(session)
    return session


async def edit_of_a_zombie(trial: Trial) -> Path:
    """Another worker closes the stopped turn after a worker without Temporal has claimed an edit."""
    file = trial.harness.file("a.txt", "a\n")
    async with cut_off_worker(trial, "tool.claimed", "Edit it.") as session:
        await trial.recording_client.stop(session)
        await trial.harness.ended(session)
    return file
