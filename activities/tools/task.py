"""task: hands work to a subagent, in a session of its own (opencode.md 8)."""

import re
from typing import Final

from pydantic import AliasChoices, Field, JsonValue

import prompts
from activities.files.place import Place
from activities.tools.tool import Child, Errand, GoesOn, Output, Params, Plan, Stopped, Surroundings, Tool
from workflows.domain.agents import Agent, Delegation
from workflows.domain.config.config import Mode
from workflows.domain.effects import Effect, Recovery
from workflows.domain.errors import ToolError
from workflows.domain.ids import SessionId
from workflows.domain.permissions.requests import PermissionRequest
from workflows.domain.permissions.rules import Ruleset
from workflows.domain.usage import Cost
from workflows.domain.wire import CloseReason

_OWN_TAGS: Final = re.compile(r"<(?=\s*/?\s*task(_result)?\b)", re.IGNORECASE)  # inside, they would end the result
_TITLE: Final = 200  # characters of a description that was to have five words


class TaskParams(Params):
    """Arguments of task."""

    description: str = Field(description="What the task is, in three to five words")
    prompt: str = Field(description="All that the subagent has to know and to do; it sees nothing else")
    subagent_type: str = Field(description="The name of the subagent")
    task_id: str | None = Field(
        default=None,
        validation_alias=AliasChoices("task_id", "session_id"),  # the latter is its older name (opencode.md 0)
        description="To go on with an earlier task: the id of its result",
    )


class Task(Tool[TaskParams]):
    """A subagent's turn. The call is over when that turn is; the subagent works on, whatever becomes of the worker."""

    name = "task"
    recovery = Recovery.REATTACHABLE
    params = TaskParams
    bound = False  # the subagent's rows and workflow are the same from everywhere

    def described(self, delegation: Delegation, rules: Ruleset) -> dict[str, str] | None:
        offered = [] if delegation.too_deep else delegation.offered(rules)
        return {"agents": "\n".join(map(_line, offered))} if offered else None

    async def plan(self, params: TaskParams, place: Place) -> Plan:
        agent = _agent(params, place.delegation)
        request = PermissionRequest(
            permission=self.name,
            patterns=(agent.name,),
            always=(agent.name,),
            metadata={"description": params.description, "subagent_type": agent.name},
        )
        arguments = params.model_dump(exclude_none=True)
        return Plan(
            requests=(request,),
            effect=Effect(tool=self.name, arguments=arguments, directory=str(place.directory)),
        )

    async def run(self, params: TaskParams, plan: Plan, around: Surroundings) -> Output | GoesOn:
        agent = _agent(params, around.place.delegation)
        title = f"{params.description[:_TITLE]} (@{agent.name} subagent)"
        session = SessionId(params.task_id) if params.task_id else None
        child = await around.delegate.start(Errand(agent=agent, title=title, prompt=params.prompt, session=session))
        return GoesOn(child=child.session, agent=child.agent)

    async def recover(self, params: TaskParams, claimed: Plan, around: Surroundings) -> Output | GoesOn:
        """What the subagent has come to, if it has ended; start it when nobody has."""
        child = await around.delegate.look()
        if child is None:
            return await self.run(params, claimed, around)
        if not child.settled:
            return GoesOn(child=child.session, agent=child.agent)
        return _result(params, child, around)

    async def stop(self, params: TaskParams, claimed: Plan, around: Surroundings) -> Output | None:
        """End the subagent's turn, and with it whatever it has running. One that was quicker has its result."""
        child = await around.delegate.stop()
        if child is None:
            return None
        if child.reason is CloseReason.DONE and child.failed is None:
            return _result(params, child, around)
        said = prompts.load("tools/task_stopped", id=child.session)
        return Output(title=params.description, output=said, metadata=_metadata(child, around))


def _agent(params: TaskParams, delegation: Delegation) -> Agent:
    """Whom the work goes to. Raises ToolError: for no subagent, or too deep below the first session."""
    if delegation.too_deep:
        raise ToolError(
            f'Subagent depth limit reached ({delegation.limit}). Increase "subagent_depth" to allow nested subagents.'
        )
    agent = delegation.agent(params.subagent_type)
    if agent is None:
        raise ToolError(f"Unknown agent type: {params.subagent_type} is not a valid agent type")
    if agent.mode is Mode.PRIMARY:
        raise ToolError(f"The agent {agent.name} is no subagent: it works for people only")
    return agent


def _result(params: TaskParams, child: Child, around: Surroundings) -> Output:
    """What the caller reads of a subagent that has ended. Raises ToolError when it failed, Stopped when it was."""
    if child.reason in (None, CloseReason.STOPPED, CloseReason.ENDED):
        raise Stopped(prompts.load("tools/task_stopped", id=child.session), _metadata(child, around))
    if child.failed is not None:
        raise ToolError(f"Subagent failed (task_id: {child.session}): {child.failed}", _metadata(child, around))
    said = _OWN_TAGS.sub("&lt;", child.said)
    output = prompts.load("tools/task_result", id=child.session, cost=_told(child.cost), text=said)
    return Output(title=params.description, output=output, metadata=_metadata(child, around))


def _metadata(child: Child, around: Surroundings) -> dict[str, JsonValue]:
    """What clients and auditors get: whose session it is, what it cost and called, and where its log stood.

    `cost` is None where nothing is known of it, `unpriced` the number of answers that it leaves out.
    """
    return {
        "sessionId": child.session,
        "parentSessionId": around.session,
        "model": child.model,
        "cost": f"{child.cost.dollars:f}" if child.cost.known else None,
        "unpriced": child.cost.unpriced,
        "events": child.seq,
        "head": child.head,
        "summary": [call.model_dump(mode="json") for call in child.calls],
    }


def _told(cost: Cost) -> str:
    if not cost.known:
        return "unknown"
    return f"at least {cost.dollars:f}" if cost.unpriced else f"{cost.dollars:f}"


def _line(agent: Agent) -> str:
    said = agent.description or "This subagent should only be called manually by the user."
    return f"- {agent.name}: {said}"
