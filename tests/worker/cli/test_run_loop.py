"""What `run` does on Ctrl-C, when the database cannot be reached, and with the results of background tasks."""

import asyncio
import random
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from activities.store import prompts
from activities.store.journal import session_journal
from tests.conftest import settings_of
from tests.harness import Harness
from tests.worker.conftest import client_without_engine
from worker.cli.exit_codes import ExitCode
from worker.cli.render.event_renderer import EventRenderer
from worker.cli.render.terminal_writer import TerminalWriter
from worker.cli.run_loop import FollowedTasks, FollowOptions, RunLoop
from worker.cli.session_follower import SessionFollower
from worker.client import Holdfast
from worker.session_client import SessionClient
from worker.stack.state_file import Endpoints
from workflows.domain.actor import Actor
from workflows.domain.close_reason import CloseReason
from workflows.domain.errors import Unavailable
from workflows.domain.events.event import Event, EventRecord
from workflows.domain.events.prompts import PromptAccepted, PromptTaken, PromptWithdrawn
from workflows.domain.events.stops import StopAccepted
from workflows.domain.events.tasks import TaskStarted
from workflows.domain.events.turns import TurnEnded, TurnOpened
from workflows.domain.ids import MessageId, PartId, Prefix, SessionId, StopId, TurnConfigId, TurnId, mint
from workflows.domain.prompt import Prompt
from workflows.domain.views.accepted import AcceptedStop
from workflows.domain.views.events import EventWithContents

ADA = Actor(subject="ada@here", method="cli")
SESSION, PROMPT, RESULT, TURN = SessionId("ses_1"), MessageId("msg_1"), MessageId("msg_2"), TurnId("trn_1")
NOWHERE = Endpoints(postgres_url="postgresql://127.0.0.1:9/none", temporal_address="127.0.0.1:9")


class SlowClient(SessionClient):
    """Its stops find no turn, late; with `lost`, they are not recorded."""

    lost = False

    async def stop(self, session: SessionId, *, keep_queued: bool = False, stop: StopId | None = None) -> AcceptedStop:
        await asyncio.sleep(0.05)
        if self.lost:
            raise Unavailable("The database cannot be reached.")
        return AcceptedStop(stop=StopId("stp_1"), turn=None, withdrawn=(PROMPT,))


class Loop(RunLoop):
    """A loop whose events the test makes."""

    def __init__(self, home: Path, prompt: MessageId | None = None, **options: object) -> None:
        holdfast = Holdfast(settings_of(home), NOWHERE)
        self.client = SlowClient(holdfast.settings, holdfast.database, ADA, holdfast.deliver)
        renderer = EventRenderer(TerminalWriter(live=False))
        follower = SessionFollower(self.client, SESSION, 0)
        super().__init__(follower, renderer, prompt, FollowOptions.model_validate(options))

    async def press(self) -> ExitCode | None:
        return await self._on_interrupt()

    async def type_stop(self) -> None:
        await self._on_command_or_prompt("/stop")
        await asyncio.sleep(0.1)

    async def see(self, *events: Event) -> ExitCode | None:
        """What the last one leads to."""
        end = None
        for each in events:
            record = EventRecord(session=SESSION, seq=1, at=datetime.now(UTC).isoformat(), actor=ADA, event=each)
            end = await self._on_own_event(EventWithContents(record=record, contents={}))
        return end


def opened(agent: str = "build") -> TurnOpened:
    return TurnOpened(turn=TURN, number=1, turn_config=TurnConfigId("cfg_1"), agent=agent, model="a/b")


def begun(call: str) -> TaskStarted:
    return TaskStarted(
        call=PartId(call), child=SessionId("ses_2"), prompt=MessageId("msg_9"), agent="explore", background=True
    )


def result_of(call: str) -> PromptAccepted:
    return PromptAccepted(prompt=RESULT, mode="queue", seal="", task=PartId(call))


TAKEN = PromptTaken(prompt=PROMPT, turn=TURN, step=1)
ENDED = TurnEnded(turn=TURN, reason=CloseReason.DONE)


async def test_a_second_ctrl_c_leaves_while_the_stop_finds_no_turn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loop = Loop(tmp_path, PROMPT)

    assert (await loop.press(), await loop.press()) == (None, ExitCode.INTERRUPTED)
    assert "Left. The stop is recorded" in capsys.readouterr().err


async def test_ctrl_c_stops_a_turn_after_a_stop_that_failed_before_it(tmp_path: Path) -> None:
    loop = Loop(tmp_path)
    loop.client.lost = True
    await loop.type_stop()
    loop._turn = TURN

    assert await loop.press() is None


@pytest.mark.parametrize("minutes", [1, 60])
async def test_a_typed_prompt_sorts_behind_one_of_a_clock_that_is_ahead(harness: Harness, minutes: int) -> None:
    ahead = MessageId(mint(Prefix.MESSAGE, time.time_ns() // 1_000_000 + minutes * 60_000, 0, random.Random(1)))
    async with client_without_engine(harness) as client:
        session = (await client.start("/p", "Hello.")).session
        async with session_journal(client.database, session, ADA) as journal:
            await prompts.accept(journal, ahead, Prompt.of_text("Go on."))
        loop = RunLoop(
            SessionFollower(client, session, 0), EventRenderer(TerminalWriter(live=False)), None, FollowOptions()
        )
        await loop._on_command_or_prompt("Still there?")
        accepted = [each.record.event async for each in client.records.log(session)]
    assert isinstance(accepted[-1], PromptAccepted) and accepted[-1].prompt > ahead


async def test_warnings_that_cannot_be_read_now_do_not_end_a_run(tmp_path: Path) -> None:
    loop = Loop(tmp_path, PROMPT, warnings=())

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            await loop.see(opened())


async def test_the_agent_that_a_command_has_switched_to_stands_before_the_next_prompt(tmp_path: Path) -> None:
    loop = Loop(tmp_path, PROMPT, current_agent="build")
    shown = []
    for agent in ("build", "plan", "plan", "build"):
        await loop.see(opened(agent))
        shown.append(loop._next.shown_agent)
    assert shown == [None, "plan", "plan", "build"]


async def test_a_result_that_is_held_ends_a_run_as_its_last_turn_ended(tmp_path: Path) -> None:
    held = PromptWithdrawn(prompt=RESULT, reason="kept for the next prompt")
    followed, stopped = Loop(tmp_path, PROMPT), Loop(tmp_path, PROMPT)
    for each in (followed, stopped):
        assert await each.see(opened(), TAKEN, begun("prt_1"), begun("prt_2"), ENDED, result_of("prt_1")) is None

    assert await followed.see(held) == ExitCode.DONE  # the other result would be held, too
    assert await stopped.see(StopAccepted(stop=StopId("stp_1"), turn=TURN), held) == ExitCode.STOPPED


def test_each_background_task_that_ends_is_said_to_go_on() -> None:
    tasks = FollowedTasks()
    for call in ("prt_1", "prt_2"):
        tasks.note(begun(call))

    assert tasks.describe(stays_open=True) == ("2 background tasks at work: the session goes on as each of them ends.")
