"""Forks a session: another one begins with its messages, and both go on independently."""

from collections import deque
from collections.abc import AsyncIterator, Collection
from datetime import UTC, datetime
from typing import Any, Final

from activities.calls import outcomes
from activities.calls.outcomes import Settlement
from activities.new_ids import new_id
from activities.store import copies, prompts, sessions, transcript, turns
from activities.store.database import Database
from activities.store.journal import Journal, announce, read_version
from activities.store.sessions import NewSession
from activities.store.statements import Statements
from workflows.domain.actor import Actor
from workflows.domain.agents.built_in import BUILD
from workflows.domain.close_reason import CloseReason
from workflows.domain.copied_messages import CopiedAnswer, CopiedCall, CopiedPrompt, CopiedTurn
from workflows.domain.errors import NotFound, Unavailable
from workflows.domain.events.copies import SessionForked
from workflows.domain.ids import GenerationId, MessageId, PartId, Prefix, SessionId, TurnId, ending_message_id
from workflows.domain.messages import AssistantMessage, NewPart, ToolPart, UserMessage
from workflows.domain.titles import fork_title
from workflows.domain.views.accepted import AcceptedFork
from workflows.domain.views.messages import MessageDetails

_LIMIT: Final = 600.0  # seconds for one statement: a session may have a million rows


async def fork_session(
    database: Database, origin: SessionId, new: SessionId, before: MessageId | None, actor: Actor
) -> AcceptedFork:
    """Begin the session `new` with the messages of `origin` before one, or all. An existing session stays.

    What is not settled in the origin counts as interrupted. Raises NotFound, and Conflict for an archived or
    deleted one.
    """
    try:
        return await _fork(database, origin, new, before, actor)
    except Unavailable:
        await read_version(database, origin)  # says so if it was archived or deleted meanwhile
        raise


async def _fork(
    database: Database, origin: SessionId, new: SessionId, before: MessageId | None, actor: Actor
) -> AcceptedFork:
    async with database.statements(b"BEGIN ISOLATION LEVEL REPEATABLE READ", limit=_LIMIT) as batch:
        end = await read_version(batch, origin)  # no lock: the origin works on meanwhile
        known = await sessions.origin(batch, origin)
        row = NewSession(
            id=new,
            **known.model_dump(include={"host", "directory", "worktree", "environment", "sources"}),
            agent=BUILD.name if known.ancestors else known.began_as,
            **(known.model_dump(include={"model", "variant"}) if not known.ancestors else {}),
            title=fork_title(known.title),
        )
        journal = await sessions.create_in(batch, database.turn_configs, row, actor)
        if journal is not None:
            journal.record(SessionForked(origin=origin, before=before, seq=end.seq, head=end.head.hex()))
            agent = await _Copy(batch, journal, origin, before).run()
            if agent is not None and not known.ancestors:
                sessions.switch_agent(journal, agent)
            journal.append()
        copied = await copies.count(batch, new)
    if journal is not None:
        announce(database, journal)
    return AcceptedFork(session=new, title=row.title, messages=copied)


class _Copy:
    def __init__(self, batch: Statements, journal: Journal, origin: SessionId, before: MessageId | None) -> None:
        self._batch = batch
        self._journal = journal
        self._origin = origin
        self._before = before
        self._exported = False  # whether `before` is a message of exports only, between those that are copied
        self._turns: dict[TurnId, TurnId] = {}
        self._prompts: dict[MessageId, MessageId] = {}
        self._answers: dict[MessageId, MessageId] = {}
        self._summaries: dict[MessageId, GenerationId] = {}
        self._tasks_elsewhere: set[PartId] = set()  # calls whose results come to the origin only

    async def run(self) -> str | None:
        """Copy page by page, so that a long session never fills memory. Returns the agent of the last turn."""
        await copies.lock_turn_configs(self._batch, self._origin)
        turns = await copies.turns(self._batch, self._origin)
        named = await copies.prompts(self._batch, self._origin)
        reminders = await copies.reminders(self._batch, self._origin)
        summaries = deque(await copies.summaries(self._batch, self._origin))
        (cut, copied), agent = await self._cut(named), None
        tasks = await copies.tasks_at_work(self._batch, self._origin)
        self._tasks_elsewhere = {call for call, result in tasks.items() if result not in copied}
        async for row in self._messages():
            message = row.message
            while summaries and summaries[0].id < message.id:
                self._summaries[summaries.popleft().id] = GenerationId(new_id(Prefix.GENERATION))
            if message.turn not in self._turns:
                self._turns[message.turn] = TurnId(new_id(Prefix.TURN))
                self._copy_turn(turns[message.turn], cut=message.turn == cut)
                agent = turns[message.turn]["agent"]
            if isinstance(message, UserMessage):
                await self._copy_prompt(message, named[message.id])
            else:
                generation = GenerationId(f"{Prefix.GENERATION}{message.id[3:]}")
                await self._copy_answer(message, row, reminders.get(generation, []))
        await self._copy_summaries()
        return agent

    async def _cut(self, taken: Collection[MessageId]) -> tuple[TurnId | None, Collection[MessageId]]:
        """The turn that loses its end, and the prompts to copy of those that are `taken`. Raises NotFound."""
        if self._before is None:
            return None, taken
        copied: set[MessageId] = set()
        self._exported = await copies.is_exported(self._batch, self._origin, self._before) or self._before in [
            ending_message_id(each.id, int(each.ended_at.timestamp() * 1000))
            for each in await turns.unfinished(self._batch, self._origin)
        ]
        async for row in transcript.iter_messages(self._batch, self._origin):
            if self._is_end(row.message.id):
                return row.message.turn, copied
            if row.message.id in taken:
                copied.add(row.message.id)
        if self._exported:
            return None, copied
        raise NotFound(
            f"Session {self._origin!r} has no message {self._before!r}: `holdfast export {self._origin}` lists its "
            "messages with their ids."
        )

    async def _messages(self) -> AsyncIterator[MessageDetails]:
        async for row in transcript.iter_messages(self._batch, self._origin):
            if self._is_end(row.message.id):
                return
            yield row

    def _is_end(self, message: MessageId) -> bool:
        """Whether this and what follows is left out."""
        return message == self._before or (self._exported and message >= (self._before or ""))

    def _copy_turn(self, row: dict[str, Any], *, cut: bool) -> None:
        copied = {name: row[name] for name in CopiedTurn.model_fields} | {"id": self._turns[row["id"]]}
        if (instructed_by := row["instructed_by"]) is not None:
            copied["instructed_by"] = self._prompt_id(instructed_by)
        if cut or row["state"] == "open":
            ended = row["ended_at"] or datetime.now(UTC)
            copied |= {"reason": CloseReason.STOPPED, "error": None, "ended_at": ended}
        copies.write_turn(self._journal, CopiedTurn(**copied))

    async def _copy_prompt(self, message: UserMessage, named: dict[str, Any]) -> None:
        content = await prompts.read(self._batch, message.id)
        assert content is not None  # of this snapshot
        copies.write_prompt(
            self._journal,
            CopiedPrompt(
                id=self._prompt_id(message.id),
                origin=message.id,
                turn=self._turns[message.turn],
                step=message.step,
                content=content,
                shown=message.shown,
                without_files=message.without_files,
                at=message.at,
                **named,
            ),
        )

    def _prompt_id(self, origin: MessageId) -> MessageId:
        """The id of the prompt's copy, which may be made later."""
        return self._prompts.setdefault(origin, MessageId(new_id(Prefix.MESSAGE)))

    async def _copy_answer(self, message: AssistantMessage, row: MessageDetails, reminders: list[Any]) -> None:
        generation = GenerationId(new_id(Prefix.GENERATION))  # before its parts
        known = await copies.calls(self._batch, message.id)
        calls, parts = [], []
        for position, part in enumerate(message.parts):
            id = PartId(new_id(Prefix.PART))
            if isinstance(part, ToolPart):
                times = row.call_times[part.id]
                ended = {"state": part.state, "outcome": part.outcome, "settled_at": times.settled}
                if (settlement := self._settlement_of(part)) is not None:
                    ended = {"state": settlement[0], "outcome": settlement[1], "settled_at": datetime.now(UTC)}
                named = part.model_dump(include={"provider_id", "tool", "arguments"})
                more = {**known[part.id], "claimed_at": times.claimed, **ended}
                if (ordered_by := more["ordered_by"]) is not None:
                    more["ordered_by"] = self._prompt_id(ordered_by)
                calls.append(CopiedCall(id=id, position=position, **named, **more))
            else:
                parts.append(NewPart(id=id, position=position, body=part))
        answer = CopiedAnswer(
            generation=generation,
            origin=message.id,
            turn=self._turns[message.turn],
            step=message.step,
            body=message.body,
            parts=tuple(parts),
            calls=tuple(calls),
            reminders=tuple(reminders),
            at=message.at,
        )
        self._answers[message.id] = answer.message
        copies.write_answer(self._journal, answer)

    def _settlement_of(self, call: ToolPart) -> Settlement | None:
        """The outcome that a copied call gets if it brings none."""
        if call.id in self._tasks_elsewhere:
            return outcomes.interrupted("task_not_copied")
        return outcomes.interrupted("not_copied") if call.outcome is None or not call.state.settled else None

    async def _copy_summaries(self) -> None:
        """Copy the summaries whose messages were all copied, with ids in the order of the messages."""
        for row in await copies.summaries(self._batch, self._origin):
            if row.newest not in self._answers or self._is_end(row.id):
                continue
            parts = await copies.parts(self._batch, row.id)
            answer = CopiedAnswer(
                generation=self._summaries.get(row.id) or GenerationId(new_id(Prefix.GENERATION)),
                origin=row.id,
                turn=self._turns[row.turn],
                step=row.step,
                newest=self._answers[row.newest],
                media=row.media,
                words=row.words,
                body=row.body,
                parts=tuple(NewPart(id=PartId(new_id(Prefix.PART)), **part) for part in parts),
                at=row.created_at,
            )
            copies.write_answer(self._journal, answer)
