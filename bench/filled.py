"""Sessions that are long, or many, written through the store's own functions: nobody has to play them."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from activities.mint import Mint
from activities.project import worktree
from activities.project.survey import bare
from activities.store import asks, calls, generations, prompts, sessions, turns
from activities.store.calls import CallRow, NewCall
from activities.store.database import Database
from activities.store.generations import NewAnswer, NewPart
from activities.store.journal import Journal, journal
from activities.store.prompts import Mode, NewPrompt
from activities.store.sessions import NewSession
from activities.store.turns import TurnRow
from workflows.domain.config.snapshot import ProjectSnapshot
from workflows.domain.effects import Effect, Plan, Recovery
from workflows.domain.events import Actor
from workflows.domain.ids import AskId, MessageId, PartId, Prefix, SessionId, TurnId
from workflows.domain.messages import AnswerBody, CallState, Outcome, TextPart
from workflows.domain.permissions.requests import PermissionRequest
from workflows.domain.usage import Tokens
from workflows.domain.wire import CloseReason, Fence

ACTOR: Final = Actor(subject="bench", method="bench")
_MODEL: Final = "scripted/model"
_TOGETHER: Final = 50  # answers that are written in one transaction
_FENCE: Final = Fence(1, 1, 1)


@dataclass
class Filler:
    """Writes sessions of a directory."""

    database: Database
    directory: Path
    mint: Mint = field(default_factory=Mint)

    async def long(self, answers: int, output: int) -> SessionId:
        """A finished session with so many answers, each with a call whose output has so many characters."""
        session, turn = await self._begun("A long session")
        for first in range(1, answers + 1, _TOGETHER):
            async with journal(self.database, session, ACTOR) as opened:
                for step in range(first, min(first + _TOGETHER, answers + 1)):
                    call = await self._answered(opened, turn, step, f"[{step}]")
                    calls.claim(opened, call, _FENCE, "bench", turn.snapshot, ())
                    calls.settle(opened, call, CallState.DONE, Outcome(output=f"{step:08}" * (output // 8)))
        async with journal(self.database, session, ACTOR) as opened:
            await turns.close(opened, turn.id, CloseReason.DONE, None)
        return session

    async def waiting(self, count: int) -> None:
        """So many sessions, each with an ask that waits."""
        for number in range(count):
            session, turn = await self._begun(f"Session {number}")
            async with journal(self.database, session, ACTOR) as opened:
                call = await self._answered(opened, turn, 1, f"make part-{number}")
                request = PermissionRequest(permission="bash", patterns=(f"make part-{number}",), always=("make *",))
                await asks.put(opened, call, AskId(self.mint.new(Prefix.ASK)), 0, request)

    async def _begun(self, title: str) -> tuple[SessionId, TurnRow]:
        """A session whose one prompt a turn has taken."""
        session, prompt = SessionId(self.mint.new(Prefix.SESSION)), MessageId(self.mint.new(Prefix.MESSAGE))
        new = NewSession(id=session, directory=str(self.directory), title=title, model=_MODEL)
        await sessions.create(self.database, new, ACTOR)
        async with journal(self.database, session, ACTOR) as opened:
            await prompts.accept(opened, NewPrompt(id=prompt, text="Go on.", mode=Mode.QUEUE))
            turn = TurnId(self.mint.new(Prefix.TURN))
            row = await turns.open_new(opened, turn, self._snapshot(), "build", _MODEL)
            prompts.take(opened, prompt, turn, 1)
        return session, row

    async def _answered(self, opened: Journal, turn: TurnRow, step: int, command: str) -> CallRow:
        """An answer with a text and a call."""
        text = NewPart(id=PartId(self.mint.new(Prefix.PART)), position=0, body=TextPart(text=f"Step {step}."))
        body = AnswerBody(
            finish="tool-calls", agent="build", model=_MODEL, tokens=Tokens(input=10, output=5), cost="0.001"
        )
        message = MessageId(self.mint.new(Prefix.MESSAGE))
        new = NewAnswer(id=message, body=body, parts=(text,), calls=(self._call(command),))
        stored = await generations.commit(opened, turn.id, step, _FENCE, new)
        assert isinstance(stored, tuple)
        return stored[0]

    def _call(self, command: str) -> NewCall:
        request = PermissionRequest(permission="bash", patterns=(command,))
        effect = Effect(tool="bash", arguments={"command": command}, directory=str(self.directory))
        return NewCall(
            id=PartId(self.mint.new(Prefix.PART)),
            position=1,
            provider_id=f"call_{command}",
            tool="bash",
            arguments={"command": command, "description": "Work"},
            recovery=Recovery.REATTACHABLE,
            plan=Plan(requests=(request,), effect=effect),
            loop=command,
        )

    def _snapshot(self) -> ProjectSnapshot:
        home = self.directory
        return bare(worktree.place(self.directory, data=home, home=home, temporary=home))
