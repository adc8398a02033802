"""Delegation to subagents: the model's answers, and the resulting sessions."""

from tests.harness import Harness
from worker.scripted.script import DEFAULT_SCRIPT, Script, ScriptedAnswer, ScriptedCall
from workflows.domain.events.tasks import TaskStarted
from workflows.domain.ids import SessionId
from workflows.domain.messages import ToolPart

DONE = ScriptedAnswer(text="All is done.")
FOUND = ScriptedAnswer(text="It is in a.txt, line 1.")
LOOK = ScriptedAnswer(tools=(ScriptedCall(name="bash", arguments={"command": "cat a.txt"}),))


def delegates(*scripts: str, agent: str = "explore", **more: str | bool) -> ScriptedAnswer:
    """An answer that starts a subagent for each script."""
    return ScriptedAnswer(
        tools=tuple(
            ScriptedCall(
                name="task",
                arguments={
                    "description": f"look for {script}",
                    "prompt": f"[[script:{script}]] Where is it?",
                    "subagent_type": agent,
                    **more,
                },
            )
            for script in scripts
        )
    )


def delegation_scripts(*answers: ScriptedAnswer, **children: tuple[ScriptedAnswer, ...]) -> dict[str, Script]:
    return {DEFAULT_SCRIPT: Script(answers=answers), **{name: Script(answers=each) for name, each in children.items()}}


async def children(harness: Harness, session: SessionId, count: int = 1) -> list[SessionId]:
    """The subagents' sessions, once `count` were started."""
    await harness.until(session, lambda event: event.type == "task.started", count)
    log = await harness.events(session)
    return [event.child for event in log if isinstance(event, TaskStarted)]


async def tasks(harness: Harness, session: SessionId) -> list[ToolPart]:
    return [call for call in await harness.calls(session) if call.tool == "task"]
