"""What one call does to the world, by one attempt."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from activities.calls import outcomes
from activities.calls.outcomes import Settlement
from activities.calls.output import save_output
from activities.calls.plan_call import plan_call
from activities.calls.planner.planner import Planner
from activities.store.calls import CachedEvidence, CallRow
from activities.tools.tool import Delegated, Output, Tool, ToolContext, Waiting
from activities.tools.toolset import Toolset
from prompts import render_prompt
from workflows.domain.context.truncate import truncate
from workflows.domain.effects import Plan, Recovery
from workflows.domain.errors import OutcomeUnknown, ToolError
from workflows.domain.messages import CallState, Outcome

_OTHER_MACHINE: Final = "It began on another machine, which is gone, and whose files and processes cannot be seen here."


@dataclass(frozen=True)
class CallEffect:
    """The effect of a stored call. `evidence`: for its claim, if this process has just prepared it."""

    call: CallRow
    tools: Toolset
    context: ToolContext
    machine: str
    planner: Planner | None = None
    evidence: CachedEvidence | None = None

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

    async def plan(self) -> Plan | ToolError:
        """What the call would do now, or why it cannot."""
        try:
            return await plan_call(self.tool, self.params, self.call.arguments, self.context.turn, self.planner)
        except ToolError as error:
            return error

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
                return outcomes.aborted()
            output = await self.tool.stop(self.params, plan, self.context)
        except (OutcomeUnknown, ToolError) as error:
            return outcomes.unknown(claimed, str(error))
        if output is None:
            return outcomes.aborted()
        done = self.tool.recovery is Recovery.RECONCILABLE
        return CallState.DONE if done else CallState.CANCELLED, await outcome_of(output, self.context)

    def _is_lost(self, claimed: CallRow) -> bool:
        """Whether its traces are on another machine."""
        bound = self.tool.machine_bound and not self.tool.recovery.may_run_again
        return bound and claimed.machine != self.machine

    def _lacks_check(self, plan: Plan) -> bool:
        return plan.effect.unchecked and not self.tool.may_run_unchecked


async def outcome_of(output: Output, context: ToolContext) -> Outcome:
    """A successful call's: shortened for the model, with all of it in a file, unless the tool has done that itself."""
    outcome = Outcome(**{name: getattr(output, name) for name in Output.model_fields if name != "truncated"})
    done = output.truncated or "truncated" in output.metadata
    cut = None if done else truncate(output.output, context.turn.limits)
    if cut is None:
        return outcome
    path = str(await save_output(output.output, context))
    text = cut.with_message(render_prompt("tools/truncated", path=path))
    metadata = {**output.metadata, "truncated": True, "outputPath": path}
    return outcome.model_copy(update={"output": text, "metadata": metadata})
