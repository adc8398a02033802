"""Long or many sessions, written by the store's own functions instead of being played."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from activities.new_ids import new_id
from activities.project import worktree
from activities.project.project_loader import built_in_config
from activities.store import asks, calls, generations, prompts, sessions, turns
from activities.store.calls import CallRow
from activities.store.database import Database
from activities.store.journal import Journal, session_journal
from activities.store.model_answers import NewAnswer, StoredAnswer
from activities.store.sessions import NewSession
from activities.store.turns import TurnRow
from activities.tools.registry import TOOLS
from workflows.domain.actor import Actor
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.effects import Effect, Plan, Recovery
from workflows.domain.fence import Fence
from workflows.domain.generation import Generation, Purpose
from workflows.domain.ids import AskId, GenerationId, MessageId, PartId, Prefix, SessionId, TurnId
from workflows.domain.messages import AnswerMetadata, CallState, NewPart, Outcome, TextPart
from workflows.domain.permissions.requests import PermissionAsk, PermissionRequest
from workflows.domain.prompt import Prompt, PromptMode
from workflows.domain.usage import Tokens
from workflows.domain.wire import CloseReason

ACTOR: Final = Actor(subject="bench", method="bench")
_MODEL: Final = "scripted/model"
_TOGETHER: Final = 50  # answers per transaction
_FENCE: Final = Fence(1, 1, 1, 1)


@dataclass
class Filler:
    database: Database
    directory: Path

    async def long(self, answers: int, output: int) -> SessionId:
        """A finished session of `answers` answers, each with a call whose output has `output` characters."""
        session, turn = await self._open_turn("A long session")
        for first in range(1, answers + 1, _TOGETHER):
            async with session_journal(self.database, session, ACTOR) as journal:
                for step in range(first, min(first + _TOGETHER, answers + 1)):
                    call = await self._add_answer(journal, turn, step, f"[{step}]")
                    calls.claim(journal, call, _FENCE, "bench", turn.turn_config, ())
                    calls.settle(journal, call, CallState.DONE, Outcome(output=f"{step:08}" * (output // 8)))
        async with session_journal(self.database, session, ACTOR) as journal:
            await turns.close(journal, turn.id, CloseReason.DONE, None)
        return session

    async def waiting(self, count: int) -> None:
        """`count` sessions, each with an open ask."""
        for number in range(count):
            session, turn = await self._open_turn(f"Session {number}")
            async with session_journal(self.database, session, ACTOR) as journal:
                call = await self._add_answer(journal, turn, 1, f"make part-{number}")
                request = PermissionRequest(permission="bash", patterns=(f"make part-{number}",), always=("make *",))
                await asks.create(journal, call, AskId(new_id(Prefix.ASK)), (0,), PermissionAsk(requests=(request,)))

    async def _open_turn(self, title: str) -> tuple[SessionId, TurnRow]:
        """A session whose prompt has a turn."""
        session, prompt = SessionId(new_id(Prefix.SESSION)), MessageId(new_id(Prefix.MESSAGE))
        new = NewSession(id=session, directory=str(self.directory), title=title, model=_MODEL)
        await sessions.create(self.database, new, ACTOR)
        async with session_journal(self.database, session, ACTOR) as journal:
            await prompts.accept(journal, prompt, Prompt.of_text("Go on.", mode=PromptMode.QUEUE))
            turn = TurnId(new_id(Prefix.TURN))
            row = await turns.open_new(journal, turn, self._turn_config(), "build", _MODEL)
            prompts.take(journal, prompt, turn, 1)
        return session, row

    async def _add_answer(self, journal: Journal, turn: TurnRow, step: int, command: str) -> CallRow:
        text = NewPart(id=PartId(new_id(Prefix.PART)), position=0, body=TextPart(text=f"Step {step}."))
        body = AnswerMetadata(
            finish="tool-calls", agent="build", model=_MODEL, tokens=Tokens(input=10, output=5), cost="0.001"
        )
        minted = GenerationId(new_id(Prefix.GENERATION))
        generation = Generation(id=minted, purpose=Purpose.STEP, turn=turn.id, step=step)
        call = self._call(journal.session, turn.id, step, generation.message, command)
        new = NewAnswer(body=body, parts=(text,), calls=(call,))
        await generations.begin(journal, generation, _FENCE)
        stored = await generations.commit(journal, generation, _FENCE, new)
        assert isinstance(stored, StoredAnswer)
        return call

    def _call(self, session: SessionId, turn: TurnId, step: int, message: MessageId, command: str) -> CallRow:
        request = PermissionRequest(permission="bash", patterns=(command,))
        effect = Effect(tool="bash", arguments={"command": command}, directory=str(self.directory))
        return CallRow(
            id=PartId(new_id(Prefix.PART)),
            session=session,
            turn=turn,
            step=step,
            message=message,
            position=1,
            provider_id=f"call_{command}",
            tool="bash",
            arguments={"command": command, "description": "Work"},
            recovery=Recovery.REATTACHABLE,
            display=TOOLS["bash"].display,
            plan=Plan(requests=(request,), effect=effect),
            digest=effect.digest,
            loop_digest=command,
        )

    def _turn_config(self) -> TurnConfig:
        home = self.directory
        return built_in_config(worktree.find_workspace(self.directory, data=home, home=home, temporary=home))
