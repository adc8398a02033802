"""Work that is handed to subagents: what a model says to it, and what it leads to."""

from tests.house import House
from worker.scripted.script import DEFAULT, Script, ScriptedAnswer, ScriptedCall
from workflows.domain import events
from workflows.domain.ids import SessionId
from workflows.domain.messages import ToolPart

DONE = ScriptedAnswer(text="All is done.")
FOUND = ScriptedAnswer(text="It is in a.txt, line 1.")
LOOK = ScriptedAnswer(tools=(ScriptedCall(name="bash", arguments={"command": "cat a.txt"}),))


def hands_over(*scripts: str, agent: str = "explore", **more: str) -> ScriptedAnswer:
    """An answer that hands one piece of work to a subagent for each of these scripts."""
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


def played(*answers: ScriptedAnswer, **children: tuple[ScriptedAnswer, ...]) -> dict[str, Script]:
    return {DEFAULT: Script(answers=answers), **{name: Script(answers=each) for name, each in children.items()}}


async def children(house: House, session: SessionId, count: int = 1) -> list[SessionId]:
    """The subagents' sessions, once so many were started."""
    await house.until(session, lambda event: event.type == "task.started", count)
    log = await house.events(session)
    return [event.child for event in log if isinstance(event, events.TaskStarted)]


async def tasks(house: House, session: SessionId) -> list[ToolPart]:
    return [call for call in await house.calls(session) if call.tool == "task"]
