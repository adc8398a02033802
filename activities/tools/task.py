"""task: hands work to a subagent in its own session (opencode.md 8)."""

import re
from typing import Final

from pydantic import AliasChoices, Field, JsonValue

import prompts
from activities.tools.arguments import Params
from activities.tools.built_in_tool import BuiltInTool
from activities.tools.tool import Delegated, Output, Plan, SubagentStatus, TaskRequest, ToolContext
from activities.turn_context import TurnContext
from workflows.domain.agents.agent import Agent, AgentMode
from workflows.domain.call_display import CallDisplay, DisplayKind
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.context.truncate import OutputLimits, excerpt
from workflows.domain.description_limits import shorten_description, split_listed
from workflows.domain.effects import Effect, Recovery
from workflows.domain.errors import CallStopped, ToolError
from workflows.domain.ids import SessionId
from workflows.domain.messages import SubagentSettled
from workflows.domain.permissions import permission_keys
from workflows.domain.permissions.requests import PermissionRequest
from workflows.domain.permissions.rules import is_denied_by_default
from workflows.domain.reminder_tags import escape_reminders
from workflows.domain.usage import Cost
from workflows.domain.wire import CloseReason

# Inside, they would end the result. As many blanks as there are would take minutes.
_TASK_TAGS: Final = re.compile(r"<(?=[\s/]{0,9}task(_result|_error)?\b)", re.IGNORECASE)
_MAX_TITLE_CHARS: Final = 200  # characters of a description meant to have five words

_NO_BACKGROUND: Final = (
    "A subagent has no tasks in the background: its work ends with its answer, and nothing would read their results. "
    "Leave `background` out, and the call waits."
)


class TaskParams(Params):
    description: str
    prompt: str
    subagent_type: str
    # `session_id` is its older name (opencode.md 0).
    task_id: str | None = Field(default=None, validation_alias=AliasChoices("task_id", "session_id"))
    background: bool = False


class TaskTool(BuiltInTool[TaskParams]):
    name = "task"
    recovery = Recovery.REATTACHABLE
    params = TaskParams
    display = CallDisplay(
        kind=DisplayKind.DELEGATE,
        verb="hand work to a subagent",
        subject="description",
        heading=("subagent_type", "description"),
    )
    machine_bound = False  # the subagent's rows and workflow are the same from everywhere

    def description_values(self, turn_config: TurnConfig) -> dict[str, str] | None:
        delegation = turn_config.delegation
        offered, _ = split_listed([] if delegation.too_deep else delegation.offered_agents(turn_config.rules))
        return {"agents": "\n".join(map(_format_agent, offered))} if offered else None

    async def plan(self, params: TaskParams, turn: TurnContext) -> Plan:
        agent = _select_agent(params, turn)
        request = PermissionRequest(
            permission=self.name,
            patterns=(agent.name,),
            always=(agent.name,),
            metadata={"description": params.description, "subagent_type": agent.name},
            changes=not (params.background or _changes_nothing(agent, turn)),
        )
        if params.background and turn.delegation.ancestors:
            raise ToolError(_NO_BACKGROUND)
        arguments = params.model_dump(exclude_defaults=True)
        return Plan(
            requests=(request,),
            effect=Effect(tool=self.name, arguments=arguments, directory=str(turn.workspace.directory)),
        )

    async def run(self, params: TaskParams, plan: Plan, context: ToolContext) -> Output | Delegated:
        """In the background, its own call ends once its rows are there."""
        agent = _select_agent(params, context.turn)
        title = f"{params.description[:_MAX_TITLE_CHARS]} (@{agent.name} subagent)"
        session = SessionId(params.task_id) if params.task_id else None
        child = await context.subagent.start(
            TaskRequest(agent=agent, title=title, prompt=params.prompt, session=session, background=params.background)
        )
        if params.background:
            return _running(params, child, context)
        return Delegated(child=child.session, agent=child.agent)

    async def recover(self, params: TaskParams, claimed: Plan, context: ToolContext) -> Output | Delegated:
        """The result of the subagent, if it has ended; starts it if no attempt has."""
        child = await context.subagent.status()
        if child is None or params.background:
            return await self.run(params, claimed, context)
        if not child.settled:
            return Delegated(child=child.session, agent=child.agent)
        return _result(params, child, context)

    async def stop(self, params: TaskParams, claimed: Plan, context: ToolContext) -> Output | None:
        """End the subagent's turn and what it runs. If it finished first, its result counts. One in the background is
        stopped with the session, not with this call."""
        if params.background:
            begun = await context.subagent.status()
            return None if begun is None else _running(params, begun, context)
        child = await context.subagent.stop()
        if child is None:
            return None
        if child.reason is CloseReason.DONE and child.error is None:
            return _result(params, child, context)
        text = _stopped(child, context.turn.limits)
        return Output(
            title=params.description, output=text, metadata=_metadata(child, context), changes=_changes(child)
        )


def _select_agent(params: TaskParams, turn: TurnContext) -> Agent:
    """Raises ToolError if the agent is no subagent, or sessions nest too deep."""
    delegation = turn.delegation
    if delegation.too_deep:
        raise ToolError(
            f'Subagent depth limit reached ({delegation.limit}). Increase "subagent_depth" to allow nested subagents.'
        )
    agent = delegation.agent(params.subagent_type)
    if agent is None:
        known = ", ".join(each.name for each in delegation.offered_agents(turn.rules)) or "none"
        raise ToolError(
            f"Unknown agent type: {params.subagent_type} is not a valid agent type. Subagents here: {known}."
        )
    if agent.mode is AgentMode.PRIMARY:
        raise ToolError(f"The agent {agent.name} is no subagent: it works for people only")
    return agent


def _changes_nothing(agent: Agent, turn: TurnContext) -> bool:
    """What the parent is denied, its subagent is, too."""
    return is_denied_by_default(permission_keys.EDIT, agent.rules) or turn.rules.denies_by_default(permission_keys.EDIT)


def _result(params: TaskParams, child: SubagentStatus, context: ToolContext) -> Output:
    """Raises ToolError when the subagent failed, CallStopped when it was stopped."""
    if child.reason in (None, CloseReason.STOPPED, CloseReason.ENDED):
        text = _stopped(child, context.turn.limits)
        raise CallStopped(text, _metadata(child, context), _changes(child))
    if child.error is not None:
        text = f"Subagent failed (task_id: {child.session}): {child.error}"
        raise ToolError(text, _metadata(child, context), _changes(child))
    text = _TASK_TAGS.sub("&lt;", child.text)
    output = prompts.render_prompt("tools/task_result", id=child.session, cost=_format_cost(child.cost), text=text)
    return Output(title=params.description, output=output, metadata=_metadata(child, context), changes=_changes(child))


def _running(params: TaskParams, child: SubagentStatus, context: ToolContext) -> Output:
    text = prompts.render_prompt("tools/task_running", id=child.session, title=_inline(params.description))
    metadata = {"sessionId": child.session, "parentSessionId": context.session, "background": True}
    return Output(title=params.description, output=text, metadata={**metadata, "model": _model_shape(child.model)})


def background_result(description: str, child: SubagentStatus, limits: OutputLimits) -> tuple[str, bool]:
    """The text that reports a background task's end to its session, and whether the task has failed."""
    title, cost = _inline(description), _format_cost(child.cost)
    if child.reason in (None, CloseReason.STOPPED, CloseReason.ENDED):
        return background_failure(child.session, _stopped(child, limits), title, cost, how="was stopped"), True
    if child.error is None:
        text = _shorten(child.text, limits)
        ended = prompts.render_prompt("tools/task_ended", id=child.session, title=title, cost=cost, text=text)
        return ended, False
    return background_failure(child.session, _shorten(child.error, limits), title, cost), True


def background_failure(
    child: SessionId, error: str, title: str = "", cost: str = "", *, how: str = "has failed"
) -> str:
    return prompts.render_prompt("tools/task_failed", id=child, title=title, cost=cost, error=error, how=how)


def _stopped(child: SubagentStatus, limits: OutputLimits) -> str:
    text = _shorten(child.text or "(nothing)", limits)
    return prompts.render_prompt("tools/task_stopped", id=child.session, text=text)


def _shorten(text: str, limits: OutputLimits) -> str:
    """No file has all of it: who delivers it may not be on the session's host."""
    shown = excerpt(_TASK_TAGS.sub("&lt;", text), limits)
    note = shown.part and prompts.render_prompt("tools/task_truncated", part=shown.part)
    return f"{note}\n\n{shown.text}" if note else shown.text


def _inline(description: str) -> str:
    return _TASK_TAGS.sub("&lt;", " ".join(description.split())[:_MAX_TITLE_CHARS])


def _changes(child: SubagentStatus) -> tuple[SubagentSettled]:
    """For audits: the subagent's log when the call took its result."""
    return (SubagentSettled(child=child.session, seq=child.seq, head=child.head),)


def _metadata(child: SubagentStatus, context: ToolContext) -> dict[str, JsonValue]:
    """`cost` is None if unknown; `unpriced` counts the answers that it leaves out."""
    return {
        "sessionId": child.session,
        "parentSessionId": context.session,
        "model": _model_shape(child.model),
        "cost": f"{child.cost.dollars:f}" if child.cost.known else None,
        "unpriced": child.cost.unpriced,
        "events": child.seq,
        "head": child.head,
        "summary": [call.model_dump(mode="json") for call in child.calls],
    }


def _model_shape(model: str | None) -> dict[str, JsonValue] | None:
    """As OpenCode's clients read it; None: the subagent has never begun."""
    if model is None:
        return None
    provider, _, name = model.partition("/")
    return {"providerID": provider, "modelID": name}


def _format_cost(cost: Cost) -> str:
    if not cost.known:
        return ""
    return f' cost="{"at least " if cost.unpriced else ""}{cost.dollars:f}"'


def _format_agent(agent: Agent) -> str:
    text = agent.description or "This subagent should only be called manually by the user."
    return f"- {agent.name}: {escape_reminders(shorten_description(text))}"
