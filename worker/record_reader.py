"""What happened in a session, and what happens now."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from typing import Final

from pydantic import JsonValue

from activities.store import asides, attempts, compactions, events, model_answers, transcript, turns
from worker.client_part import ClientPart
from worker.session_reader import SessionReader
from worker.session_watcher import LogFollower, SessionWatcher, read_events
from workflows.domain.errors import Conflict, Unavailable
from workflows.domain.ids import MessageId, SessionId, TurnConfigId, TurnId
from workflows.domain.messages import AssistantMessage, Message, StepReminders, UserMessage
from workflows.domain.sent_request import RequestChoice, SentRequest
from workflows.domain.titles import without_thoughts
from workflows.domain.views.deltas import PublishedDelta
from workflows.domain.views.events import EventWithContents
from workflows.domain.views.messages import MessageDetails, StepFailure, SummaryDetails
from workflows.domain.views.sessions import ChangeSummary, UnfinishedTurn, Verification

_RECONNECT_INTERVAL: Final = 1.0  # seconds


class RecordReader(ClientPart):
    """A part of a client."""

    @property
    def sessions(self) -> SessionReader:
        return self.as_part(SessionReader)

    async def log(self, session: SessionId, after: int = 0) -> AsyncGenerator[EventWithContents, None]:
        """The session's events so far. Raises NotFound."""
        await self.sessions.require_unarchived(session)
        async for seen in read_events(self.database, session, after):
            yield seen

    async def verify(self, session: SessionId) -> Verification:
        """Recompute the session's hash chain. Raises NotFound."""
        await self.sessions.require_unarchived(session)
        return await events.verify(self.database, session)

    async def transcript(self, session: SessionId) -> tuple[Message, ...]:
        """What was asked and answered. Raises NotFound."""
        await self.sessions.require_unarchived(session)
        async with self.database.statements(b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY") as batch:
            found = await transcript.read(batch, session)
        return tuple(entry for entry in found if not isinstance(entry, StepReminders))

    async def summary(self, session: SessionId) -> str | None:
        """What stands for the beginning of the session's context now, if anything. Raises NotFound."""
        await self.sessions.require_contents(session)
        found = await compactions.newest(self.database, session)
        return None if found is None else await model_answers.read_text(self.database, found.generation)

    async def warnings(self, turn_config: TurnConfigId) -> tuple[str, ...]:
        """What a turn's configuration names to no effect, or to another than it says."""
        return (await self.database.turn_configs.get(self.database, turn_config)).warnings

    async def change_summary(self, session: SessionId) -> ChangeSummary | None:
        """The newest one of what the session has changed, if a person has asked for it. Raises NotFound, Conflict."""
        await self.sessions.require_contents(session)
        for found in await asides.summaries(self.database, session):
            text = without_thoughts(await model_answers.read_text(self.database, found.generation)).strip()
            if text:
                return found.model_copy(update={"text": text})
        return None

    async def sent(self, session: SessionId, choice: RequestChoice) -> SentRequest:
        """What a model was sent, built again from the records. Raises NotFound, Conflict."""
        # few commands need tools and requests
        from activities.model.sent_requests import SentRequests
        from activities.tools.registry import TOOLS
        from activities.turn_tools import TurnTools

        await self.sessions.require_contents(session)
        async with self.database.statements(b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY") as batch:
            found = SentRequests(batch, self.database.turn_configs, TurnTools(TOOLS), session)
            return await found.find(choice)

    async def messages(self, session: SessionId) -> AsyncIterator[MessageDetails]:
        """One by one with details, never all in memory. Raises NotFound."""
        await self.sessions.require_contents(session)
        async for details in transcript.iter_messages(self.database, session):
            yield details

    async def summaries(self, session: SessionId) -> list[SummaryDetails]:
        """The summaries of its compactions, the oldest first."""
        return await compactions.summaries(self.database, session)

    async def failures(self, session: SessionId) -> list[StepFailure]:
        """The failed attempts at its steps, the oldest first."""
        return await attempts.failures(self.database, session)

    async def result(self, session: SessionId, prompt: MessageId) -> dict[str, JsonValue] | None:
        """The result of the prompt's turn, in the form that the prompt asked for; None if there is none yet. Raises
        Conflict where it was deleted."""
        turn: TurnId | None = None
        found = None
        deleted: MessageId | None = None
        async for details in self.messages(session):
            match details.message:
                case UserMessage(id=identity) if identity == prompt:
                    turn = details.message.turn
                case AssistantMessage(turn=answered, structured=given) if answered == turn and given is not None:
                    found = given
                case AssistantMessage(turn=answered, lost_result=True) if answered == turn:
                    deleted = details.message.id
        if found is None and deleted is not None:
            raise Conflict(f"The result of prompt {prompt!r} was deleted with message {deleted!r}.")
        return found

    async def unfinished_turns(self, session: SessionId) -> list[UnfinishedTurn]:
        return await turns.unfinished(self.database, session)

    async def watch(
        self, session: SessionId, after: int = 0, *, with_subagents: bool = False
    ) -> AsyncGenerator[EventWithContents | PublishedDelta, None]:
        """Events after `after`, each once and in order, and unfinished pieces; endless, across reconnections.

        Close it when leaving early (`aclosing`): the session counts as watched until then. Raises NotFound.
        """
        session_watcher, known = SessionWatcher(self.database, session, after, with_subagents=with_subagents), False
        while True:
            try:
                known = known or bool(await self.sessions.require_unarchived(session))
                async with aclosing(session_watcher.stream()) as pieces:
                    async for piece in pieces:
                        yield piece
            except Unavailable:
                await asyncio.sleep(_RECONNECT_INTERVAL)

    async def watch_all(self, after: Mapping[SessionId, int] | None = None) -> AsyncGenerator[EventWithContents, None]:
        """The events of all sessions, new ones too, each session's once and in order; endless, across reconnections.
        `after` as in `LogFollower`. Close it when leaving early."""
        follower = LogFollower(self.database, after)
        while True:
            try:
                async with aclosing(follower.stream()) as news:
                    async for seen in news:
                        yield seen
            except Unavailable:
                await asyncio.sleep(_RECONNECT_INTERVAL)
