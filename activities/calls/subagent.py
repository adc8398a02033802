"""Subagent sessions: a call starts one, stops it, and reads its result."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, TypeAlias

from activities.calls.claim import require_open_claim
from activities.failpoints import failpoint
from activities.new_ids import new_id
from activities.store import prompts, sessions, stops, tasks, transcript, turns
from activities.store.calls import CallRow
from activities.store.database import Database, dumps
from activities.store.journal import WORKER, Journal, session_journal
from activities.store.sessions import NewSession
from activities.store.tasks import SubagentTask
from activities.store.turns import TurnStatus
from activities.tools.tool import SubagentCall, SubagentStatus, TaskRequest
from workflows.domain.agents.agent import Agent
from workflows.domain.agents.delegation import subagent_rules
from workflows.domain.answer_text import answer_text
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.errors import ToolError, Unavailable
from workflows.domain.fence import Fence
from workflows.domain.ids import MessageId, PartId, Prefix, SessionId
from workflows.domain.messages import AssistantMessage, Message, StepReminders, ToolPart
from workflows.domain.permissions.rules import Ruleset
from workflows.domain.prompt import Prompt, PromptMode
from workflows.domain.usage import Cost
from workflows.domain.wire import CloseReason

Deliver: TypeAlias = Callable[[SessionId], Awaitable[None]]  # sends a session's signals
_TOO_MANY: Final = f"{tasks.MAX_AT_WORK} subagents work for this session, the most at once: wait for the end of one."
MAX_CALLS: Final = 200  # of a subagent's turn, listed in its parent's call
_MAX_TITLE_CHARS: Final = 200  # characters of a listed call's title
_POLL_INTERVAL: Final = 0.2  # seconds between two checks of a stopped child


@dataclass(frozen=True)
class CallSubagent:
    """The subagent of one attempt at a call (`activities.tools.tool.SubagentHandle`)."""

    database: Database
    deliver: Deliver
    call: CallRow
    fence: Fence

    async def start(self, task_request: TaskRequest) -> SubagentStatus:
        """Store the child's session, prompt and link in one transaction.

        Raises as `require_open_claim`, and ToolError for a session that cannot be continued, or one too many.
        """
        async with session_journal(self.database, self.call.session, WORKER, epoch=self.fence.epoch) as journal:
            known = await tasks.of_call(journal, self.call.id)
            if known is None:
                turn_status = await require_open_claim(journal, self.call, self.fence)
                known = await self._begin(journal, task_request, turn_status)
        await failpoint("task.started", self.call.id)
        if task_request.background:  # no run of its caller starts it
            with suppress(Unavailable):  # the sweeper sends it
                await self.deliver(known.child)
        return _status_of(known)

    async def status(self) -> SubagentStatus | None:
        """May be outdated on return."""
        return await read_status(self.database, self.call.id)

    async def stop(self) -> SubagentStatus | None:
        """Stop the child's turn, or withdraw its untaken prompt, and wait for the end.

        If needed, the sweeper wakes the child's workflow.
        """
        child = await self.status()
        if child is not None and not child.settled:
            await self._request_stop(child.session)
            child = await self.status()
        while child is not None and not child.settled:
            await asyncio.sleep(_POLL_INTERVAL)
            child = await self.status()
        return child

    async def _begin(self, journal: Journal, task_request: TaskRequest, turn_status: TurnStatus) -> SubagentTask:
        if await tasks.count_at_work(journal) >= tasks.MAX_AT_WORK:
            raise ToolError(_TOO_MANY)
        given = await self._ordered(journal) or Prompt(parts=())
        prompt = given.model_copy(update={"mode": PromptMode.QUEUE}).with_text(task_request.prompt)
        if task_request.session is not None:
            await self._require_own(journal, task_request.session)
            async with journal.child_journal(task_request.session) as child:
                await self._resume_child(child, task_request, turn_status)
                message = await prompts.mint(child, child.session)
                await prompts.accept(child, message, prompt, self.call.id)
        else:
            new = await self._new_session(journal, SessionId(new_id(Prefix.SESSION)), task_request, turn_status)
            async with sessions.create_child(journal, new) as child:
                message = MessageId(new_id(Prefix.MESSAGE))
                await prompts.accept(child, message, prompt, self.call.id)
        agent, background = task_request.agent.name, task_request.background
        tasks.start(journal, self.call.id, child.session, message, agent, background=background)
        return SubagentTask(call=self.call.id, child=child.session, prompt=message, agent=task_request.agent.name)

    async def _ordered(self, journal: Journal) -> Prompt | None:
        """What a prompt says of its subtask: model, variant, slash command, and what of it came through a pipe."""
        if self.call.ordered_by is None or self.call.ordered_part is None:
            return None
        content = await prompts.filled(journal, self.call.ordered_by)
        ordered = content.subtasks.get(self.call.ordered_part) if content else None
        if content is None or ordered is None:
            return None
        command = content.command if ordered.command else None
        named = {"model": ordered.model, "variant": ordered.variant, "command": command}
        return Prompt(parts=(), piped_at=content.piped_at, **named)

    async def _new_session(
        self, journal: Journal, child: SessionId, task_request: TaskRequest, turn_status: TurnStatus
    ) -> NewSession:
        """Its rules are never wider than those of the parent's turn."""
        origin, frozen = await asyncio.gather(
            sessions.origin(journal, journal.session), turns.turn_config(journal, turn_status.turn_config)
        )
        own_model = task_request.agent.model is not None and task_request.agent.model_family is None
        return NewSession(
            id=child,
            host=origin.host,
            directory=origin.directory,
            worktree=origin.worktree,
            title=task_request.title,
            agent=task_request.agent.name,
            # its own are read when its turn opens
            model=None if own_model else turn_status.model,
            variant=None if task_request.agent.model or task_request.agent.variant else turn_status.variant,
            environment=origin.environment,
            parent=journal.session,
            rules=_rules(task_request.agent, frozen),
        )

    async def _require_own(self, journal: Journal, session: SessionId) -> None:
        if session not in (await sessions.tree(journal, journal.session))[1:]:
            raise ToolError(f"There is no subagent with the task_id {session!r} in this session: start a new one.")

    async def _resume_child(self, child: Journal, task_request: TaskRequest, turn_status: TurnStatus) -> None:
        """Add the parent's current denies. Raises ToolError for a child that has ended or is not the decided one."""
        if child.ended:
            raise ToolError(f"The subagent of the task_id {child.session!r} has ended for good: start a new one.")
        origin, frozen = await asyncio.gather(
            sessions.origin(child, child.session), turns.turn_config(child, turn_status.turn_config)
        )
        if origin.agent != task_request.agent.name:
            raise ToolError(
                f"The subagent of the task_id {child.session!r} works as {origin.agent!r}, not as "
                f"{task_request.agent.name!r}: name that one, or start a new one."
            )
        sessions.add_rules(child, origin.rules, _rules(task_request.agent, frozen))

    async def _request_stop(self, child: SessionId) -> None:
        """Accepts and signals the stop once: each unhandled signal costs the workflow history."""
        async with session_journal(self.database, child, WORKER) as journal:
            stopped = await stops.accept(journal, stops.stop_of_call(self.call.id))
        if stopped.turn is not None:
            with suppress(Unavailable):  # the sweeper sends it
                await self.deliver(child)


async def read_status(database: Database, call: PartId) -> SubagentStatus | None:
    """The status of a call's subagent; None if it has not begun."""
    async with database.statements(b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY") as batch:
        task = await tasks.of_call(batch, call)
        if task is None:
            return None
        if not task.settled:
            return _status_of(task)
        found = await transcript.read(batch, task.child)
        totals = await sessions.totals(batch, task.child)
    messages = [each for each in found if not isinstance(each, StepReminders) and each.turn == task.turn]
    return _status_of(task, messages, totals.cost)


def _rules(agent: Agent, parent: TurnConfig) -> Ruleset:
    return subagent_rules(agent, parent.rules, parent.config.experimental.primary_tools)


def _status_of(task: SubagentTask, messages: Sequence[Message] = (), cost: Cost | None = None) -> SubagentStatus:
    answers = [each for each in messages if isinstance(each, AssistantMessage)]
    parts = [part for answer in answers for part in answer.parts]
    last = answers[-1].parts if answers else ()
    texts = [messages] if task.reason is CloseReason.DONE else [[answer] for answer in reversed(answers)]
    errors = [
        f"its call {part.tool} {dumps(part.arguments)[:_MAX_TITLE_CHARS]}: {part.outcome.output}"
        for part in last
        if isinstance(part, ToolPart) and part.outcome and part.outcome.error
    ]
    return SubagentStatus(
        session=task.child,
        agent=task.agent,
        settled=task.settled,
        reason=task.reason,
        model=task.model,
        text=next(filter(None, map(answer_text, texts)), ""),
        error=task.error or (errors[-1] if errors else None),
        calls=tuple(_summarize_call(part) for part in parts if isinstance(part, ToolPart))[-MAX_CALLS:],
        cost=cost or Cost(),
        seq=task.seq,
        head=task.head,
    )


def _summarize_call(call: ToolPart) -> SubagentCall:
    title = call.outcome.title[:_MAX_TITLE_CHARS] if call.outcome is not None else ""
    return SubagentCall(id=call.id, tool=call.tool, status=call.state.status, title=title)
