"""What a stored call does to the world, by one attempt."""

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Final

from pydantic import JsonValue

from activities.calls import outcomes
from activities.calls.call_wait import CallWait
from activities.calls.claim import CallClaim, Claimed, require_open_claim
from activities.calls.outcomes import Settlement
from activities.calls.output import outcome_of
from activities.calls.plan_call import plan_call
from activities.calls.planner.planner import Planner
from activities.calls.subagent import CallSubagent, Deliver
from activities.failpoints import failpoint
from activities.fault_limit import EXPECTED_ERRORS
from activities.project.project_loader import ProjectLoader
from activities.shell.environment import tool_environment
from activities.store import asks, calls, deltas, prompts, seen_files
from activities.store.calls import CallRow, PreparedCall
from activities.store.database import Database
from activities.store.deltas import Watchers
from activities.store.journal import WORKER, session_journal, write_optimistically
from activities.tools.file_change import EarlierEdit, FileChangeTool
from activities.tools.tool import Delegated, Tool, ToolContext, Toolset, Toolsets, Waiting, WebHandle
from activities.turn_context import TurnContext
from workflows.domain.effects import Plan, Recovery
from workflows.domain.errors import OutcomeUnknown, ToolError, Unavailable, VersionConflict
from workflows.domain.fence import Fence
from workflows.domain.ids import MessageId, PartId, Prefix
from workflows.domain.messages import CallState, Outcome
from workflows.domain.open_call import CallResult
from workflows.domain.prompt import Prompt
from workflows.domain.wire import RunRequest

_LOG: Final = logging.getLogger("holdfast.tools")
_OTHER_MACHINE: Final = "It began on another machine, which is gone, and whose files and processes cannot be seen here."


@dataclass(frozen=True)
class CallEffect:
    """The effect of a call, with what a tool needs for it. `prepared`: by this process, just before."""

    call: CallRow
    tools: Toolset
    context: ToolContext
    machine: str
    planner: Planner | None = None
    prepared: PreparedCall | None = None

    @cached_property
    def tool(self) -> Tool[Any]:
        """Raises ToolError for a tool that no longer exists."""
        tool = self.tools.get(self.call.tool)
        if tool is None:
            raise ToolError(f"There is no tool {self.call.tool!r} any more.")
        return tool

    @cached_property
    def params(self) -> Any:
        """The arguments as the tool parsed them. Raises ToolError if they do not fit."""
        return self.tool.parse(self.call.arguments)

    async def plan(self, database: Database, before: Sequence[CallRow] = ()) -> Plan | ToolError:
        """What the call would do now, or why it cannot; an edit after those `before` it that are still to be made."""
        try:
            earlier = [
                EarlierEdit(tool, row.arguments, row.plan.paths)
                for row in before
                if isinstance(tool := self.tools.get(row.tool), FileChangeTool) and row.plan and row.plan.targets
            ]
            turn, planner = self.context.turn, self.planner
            plan = await plan_call(self.tool, self.params, self.call.arguments, turn, planner, earlier=earlier)
            if not before:
                await seen_files.require_seen(database, self.call.session, plan.replaced_targets)
            return plan
        except ToolError as error:
            return error

    async def claim(self, database: Database, request: RunRequest, fence: Fence) -> Claimed | CallResult:
        """Plans again on each try: files may change while the database is away."""
        before = await calls.open_before(database, self.call) if request.only_plans else ()
        plan = await self.plan(database, before) if self.call.state is CallState.PREPARED else None
        claim = CallClaim(request, fence, self.machine, plan)
        journal = partial(session_journal, database, request.session, WORKER, epoch=request.epoch)
        version = self.prepared.version if self.prepared else None
        return await write_optimistically(journal, version, lambda journal: claim.take(journal, self.prepared))

    async def look(self, database: Database, request: RunRequest, fence: Fence) -> CallRow | None:
        """Claim, effect and outcome in one commit, which a quick call can have: it changes nothing, and nobody learns
        of its result before. None: it has to be claimed first, as rules alone do not allow it, or something has changed
        since this process has prepared it."""
        if self.prepared is None or self.prepared.version is None or request.only_plans:
            return None
        plan = await self.plan(database)
        if isinstance(plan, ToolError) or not plan.quick:
            return None
        claim = CallClaim(request, fence, self.machine, plan)
        rules = (await database.turn_configs.get(database, self.prepared.turn_config)).rules
        decided = claim.decide_as_prepared(self.prepared, self.prepared.version, rules)
        if decided is None:
            return None
        wanted: list[str] = []

        async def attach(files: Sequence[str]) -> frozenset[str]:
            wanted.extend(files)  # only a claim can have them
            return frozenset()

        done = await replace(self, context=replace(self.context, attach=attach)).run(self.call, recover=False)
        if wanted or isinstance(done, Delegated | Waiting):
            return None
        await failpoint("tool.effect_done", self.call.id)
        try:
            async with session_journal(
                database, request.session, WORKER, epoch=request.epoch, seen=self.prepared.version
            ) as journal:
                claim.write(journal, *decided)
                calls.settle(journal, self.call, *done)
        except VersionConflict:
            return None
        return self.call.model_copy(update={"state": done[0]})

    async def run(self, claimed: CallRow, *, recover: bool) -> Settlement | Delegated | Waiting:
        """Run or recover it under its claim; the tool's exception becomes the model's error.

        The engine retries unexpected errors of re-attachable tools: the effect may still be running.
        """
        try:
            tool, params = self.tool, self.params
        except ToolError as error:
            return outcomes.unknown(claimed, str(error))
        plan = claimed.claimed_plan
        if self._lacks_check(plan):
            return CallState.FAILED, Outcome(output=f"{plan.requests[0].opaque} It has not run.", error=True)
        if recover and self._is_lost(claimed):
            return outcomes.unknown(claimed, _OTHER_MACHINE)
        work = tool.recover if recover and not tool.recovery.may_run_again else tool.run
        try:
            output = await work(params, plan, self.context)
        except Exception as error:
            return outcomes.of_error(tool, claimed, error)
        if isinstance(output, Delegated | Waiting):
            return output
        return CallState.DONE, await outcome_of(output, self.context)

    async def stop(self, claimed: CallRow) -> Settlement:
        """End what it still runs; its partial result."""
        plan = claimed.claimed_plan
        try:
            if self._is_lost(claimed):
                return outcomes.unknown(claimed, _OTHER_MACHINE)
            if self._lacks_check(plan):
                return outcomes.interrupted("not_begun")
            output = await self.tool.stop(self.params, plan, self.context)
        except (OutcomeUnknown, ToolError) as error:
            return outcomes.unknown(claimed, str(error))
        if output is None:
            return outcomes.interrupted("stopped_running" if self.tool.recovery.may_run_again else "not_begun")
        done = self.tool.recovery is Recovery.RECONCILABLE
        return CallState.DONE if done else CallState.CANCELLED, await outcome_of(output, self.context)

    def _is_lost(self, claimed: CallRow) -> bool:
        """Whether its traces are on another machine."""
        bound = self.tool.machine_bound and not self.tool.recovery.may_run_again
        return bound and claimed.machine != self.machine

    def _lacks_check(self, plan: Plan) -> bool:
        return plan.effect.unchecked and not self.tool.may_run_unchecked


@dataclass(frozen=True)
class CallEffects:
    """Opens stored calls for attempts. `machine` names the data directory with the commands' files, `deliver` sends the
    signals of other sessions."""

    database: Database
    loader: ProjectLoader
    toolsets: Toolsets
    machine: str
    deliver: Deliver
    web: WebHandle
    planner: Planner | None = None

    async def open(self, call: PartId, fence: Fence) -> CallEffect:
        """Raises NotFound."""
        row, environment, prepared = await calls.take(self.database, call)
        turn_config = await self.database.turn_configs.get(self.database, environment.turn_config)
        turn = self.loader.turn_context(turn_config)
        turn = replace(turn, limits=turn.limits.within(row.room))
        if row.ordered_by is not None and row.asked_by is not None:
            turn = turn.open_to(str(row.arguments.get("subagent_type")))
        context = self.context(row, turn, environment.environment, fence)
        return CallEffect(row, self.toolsets.of(turn_config), context, self.machine, self.planner, prepared)

    def context(self, call: CallRow, turn: TurnContext, environment: dict[str, str], fence: Fence) -> ToolContext:
        attempt = "-".join(str(number) for number in fence)
        watchers = Watchers(self.database, call.session)

        async def progress(metadata: dict[str, JsonValue]) -> None:
            with suppress(Unavailable):  # live progress may be lost
                if await watchers.present():
                    await deltas.publish(self.database, call.session, call.id, attempt, [metadata])

        return ToolContext(
            session=call.session,
            call=call.id,
            attempt=attempt,
            turn=turn,
            environment=partial(tool_environment, environment, turn.workspace, call.id),
            progress=progress,
            answers=partial(asks.answers_to, self.database, call.id),
            queue_prompt=partial(_queue_prompt, self.database, call, fence),
            attach=partial(seen_files.claim_instructions, self.database, call.id, fence),
            fence=partial(calls.require_claim, self.database, call.id, fence),
            subagent=CallSubagent(self.database, self.deliver, call, fence),
            wait=CallWait(self.database, call, fence),
            web=self.web,
        )

    async def stop(self, call: CallRow, fence: Fence, given_up: str | None = None) -> Settlement:
        """End what a claimed call still runs. `given_up`: why it is not retried; a failure here makes the outcome
        unknown."""
        try:
            effect = await self.open(call.id, fence)
            return await effect.stop(call)
        except EXPECTED_ERRORS:
            raise
        except Exception as error:
            if given_up is None:
                raise
            _LOG.exception("call %s could not be ended", call.id)
            return outcomes.unknown(call, f"{given_up}; ending it: {type(error).__name__}: {error}")


def prompt_of_call(call: PartId) -> MessageId:
    """The same for every attempt."""
    return MessageId(f"{Prefix.MESSAGE}{call.removeprefix(Prefix.PART)}")


async def _queue_prompt(database: Database, call: CallRow, fence: Fence, prompt: Prompt) -> None:
    """Accept it, once. Raises as `require_open_claim`."""
    async with session_journal(database, call.session, WORKER, epoch=fence.epoch) as journal:
        await require_open_claim(journal, call, fence)
        await prompts.accept(journal, prompt_of_call(call.id), prompt)
