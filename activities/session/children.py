"""Children: the sessions of subagents, each begun by a call, stopped with it, and asked what came of it."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, TypeAlias

from activities.failpoints import failpoint
from activities.mint import Mint
from activities.store import calls, prompts, sessions, stops, tasks, transcript, turns
from activities.store.bells import Bell, BellKind
from activities.store.calls import CallRow
from activities.store.database import Database
from activities.store.journal import WORKER, Journal, journal
from activities.store.prompts import Mode, NewPrompt
from activities.store.sessions import NewSession
from activities.store.tasks import Task
from activities.store.turns import TurnStanding
from activities.tools.tool import ABORTED, Child, ChildCall, Errand, Stopped
from workflows.domain.agents import bounds
from workflows.domain.errors import StaleFence, ToolError, Unavailable
from workflows.domain.ids import MessageId, Prefix, SessionId, StopId
from workflows.domain.messages import AssistantMessage, TextPart, ToolPart
from workflows.domain.usage import Cost
from workflows.domain.wire import Fence

Ring: TypeAlias = Callable[[Bell], Awaitable[None]]
MOST_CALLS: Final = 200  # of a subagent's turn that its parent's call lists
_TITLE: Final = 200  # characters of a call's title there
_LOOK_PERIOD: Final = 0.2  # seconds between two looks whether a stopped child has ended


@dataclass(frozen=True)
class Children:
    """The subagent of one call, as an attempt at that call sees it (`activities.tools.tool.Delegate`)."""

    database: Database
    ring: Ring
    call: CallRow
    fence: Fence

    async def start(self, errand: Errand) -> Child:
        """Write the child's session and prompt, and what links them to the call, in one transaction.

        Raises StaleFence when the claim is another attempt's, Stopped when the turn is over, ToolError for a session
        that cannot be gone on with.
        """
        async with journal(self.database, self.call.session, WORKER, chain_start=self.fence.chain) as opened:
            row, known, standing = await asyncio.gather(
                calls.lock(opened, self.call.id),
                tasks.of_call(opened, self.call.id),
                turns.standing(opened, self.call.turn),
            )
            if known is None:
                if row.settled or row.fence != self.fence:
                    raise StaleFence(f"Call {row.id!r} is {row.state} under {row.fence}, this attempt is {self.fence}.")
                if standing.over or opened.ended:
                    raise Stopped(ABORTED)
                known = await self._begin(opened, errand, standing)
        await failpoint("task.started", self.call.id)
        return _child(known)

    async def look(self) -> Child | None:
        """How far the child is; it may be further at once."""
        async with self.database.statements(b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY") as said:
            task = await tasks.of_call(said, self.call.id)
            if task is None:
                return None
            if not task.settled:
                return _child(task)
            spoken = await transcript.read(said, task.child)
            answers = [each for each in spoken if isinstance(each, AssistantMessage) and each.turn == task.turn]
            totals = await sessions.totals(said, task.child)
        return _child(task, answers, totals.cost)

    async def stop(self) -> Child | None:
        """Stop the child's turn, or withdraw the prompt that it has not taken, and wait until it has ended.

        Its workflow may have to be woken for that, which the sweeper does.
        """
        child = await self.look()
        if child is not None and not child.settled:
            await self._interrupt(child.session)
            child = await self.look()
        while child is not None and not child.settled:
            await asyncio.sleep(_LOOK_PERIOD)
            child = await self.look()
        return child

    async def _begin(self, opened: Journal, errand: Errand, standing: TurnStanding) -> Task:
        mint = Mint()
        prompt = NewPrompt(id=MessageId(mint.new(Prefix.MESSAGE)), text=errand.prompt, mode=Mode.QUEUE)
        if errand.session is not None:
            await self._own(opened, errand.session)
            async with opened.beside(errand.session) as child:
                await self._gone_on_with(child, errand, standing)
                await prompts.accept(child, prompt, self.call.id)
        else:
            new = await self._session(opened, SessionId(mint.new(Prefix.SESSION)), errand, standing)
            async with sessions.below(opened, new) as child:
                await prompts.accept(child, prompt, self.call.id)
        tasks.start(opened, self.call.id, child.session, prompt.id, errand.agent.name)
        return Task(call=self.call.id, child=child.session, prompt=prompt.id, agent=errand.agent.name)

    async def _session(self, opened: Journal, child: SessionId, errand: Errand, standing: TurnStanding) -> NewSession:
        """A session like its parent's, under rules that are never wider than those of the parent's turn."""
        origin, frozen = await asyncio.gather(
            sessions.origin(opened, opened.session), turns.snapshot(opened, standing.snapshot)
        )
        return NewSession(
            id=child,
            host=origin.host,
            directory=origin.directory,
            title=errand.title,
            agent=errand.agent.name,
            model=None if errand.agent.model else standing.model,  # its own is looked up when its turn opens
            environment=origin.environment,
            parent=opened.session,
            rules=bounds(errand.agent, frozen.rules),
        )

    async def _own(self, opened: Journal, session: SessionId) -> None:
        """Raise ToolError for a session that none of this one's subagents works in."""
        if session not in (await sessions.tree(opened, opened.session))[1:]:
            raise ToolError(f"There is no subagent with the task_id {session!r} in this session: start a new one.")

    async def _gone_on_with(self, child: Journal, errand: Errand, standing: TurnStanding) -> None:
        """Bind a subagent by what its parent is denied by now, too. Raises ToolError for one that has ended, or is
        another than was decided on."""
        if child.ended:
            raise ToolError(f"The subagent of the task_id {child.session!r} has ended for good: start a new one.")
        origin, frozen = await asyncio.gather(
            sessions.origin(child, child.session), turns.snapshot(child, standing.snapshot)
        )
        if origin.agent != errand.agent.name:
            raise ToolError(
                f"The subagent of the task_id {child.session!r} works as {origin.agent!r}, not as "
                f"{errand.agent.name!r}: name that one, or start a new one."
            )
        sessions.bind(child, origin.rules, bounds(errand.agent, frozen.rules))

    @property
    def _stop(self) -> StopId:
        """One stop for each call, however often it is tried."""
        return StopId(f"{Prefix.STOP}{self.call.id.removeprefix(Prefix.PART)}")

    async def _interrupt(self, child: SessionId) -> None:
        """Accept the stop and ring, once: a bell at a workflow that has not come to it yet costs it history."""
        async with journal(self.database, child, WORKER) as opened:
            stopped = await stops.accept(opened, self._stop)
        if stopped.turn is not None:
            with suppress(Unavailable):  # the sweeper rings
                await self.ring(Bell(kind=BellKind.STOP, id=stopped.stop, session=child, turn=stopped.turn))


def _child(task: Task, answers: list[AssistantMessage] | None = None, cost: Cost | None = None) -> Child:
    parts = [part for answer in answers or () for part in answer.parts]
    last = answers[-1].parts if answers else ()
    said = [part.text for part in last if isinstance(part, TextPart)]
    failed = [
        part.outcome.output for part in last if isinstance(part, ToolPart) and part.outcome and part.outcome.error
    ]
    return Child(
        session=task.child,
        agent=task.agent,
        settled=task.settled,
        reason=task.reason,
        model=task.model,
        said=said[-1] if said else "",
        failed=task.error or (failed[-1] if failed else None),
        calls=tuple(_shown(part) for part in parts if isinstance(part, ToolPart))[-MOST_CALLS:],
        cost=cost or Cost(),
        seq=task.seq,
        head=task.head,
    )


def _shown(call: ToolPart) -> ChildCall:
    title = call.outcome.title[:_TITLE] if call.outcome is not None else ""
    return ChildCall(id=call.id, tool=call.tool, status=call.state.status, title=title)
