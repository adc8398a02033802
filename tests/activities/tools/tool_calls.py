"""Calls of tools in a scratch project, planned and run as the worker does, without a ledger."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from activities.credentials.keys import Keys
from activities.files.workspace import Workspace
from activities.tools.tool import Output, SubagentStatus, TaskRequest, Tool, ToolContext
from activities.turn_context import TurnContext
from activities.web.web_access import WebAccess
from workflows.domain.ids import PartId, SessionId
from workflows.domain.waits import WaitStatus, WaitSubject


def project(scratch: Path) -> Workspace:
    """`ws/proj`, a git work tree, in an empty directory."""
    workspace = Workspace(
        directory=scratch / "ws" / "proj",
        worktree=scratch / "ws" / "proj",
        data=scratch / "data",
        home=scratch / "home",
        temporary=scratch / "tmp",
    )
    (workspace.directory / ".git").mkdir(parents=True)
    return workspace


class NoWait:
    """A call that does not wait."""

    async def begin(self, subject: WaitSubject, until: timedelta | datetime | None, *, met: bool) -> WaitStatus:
        raise AssertionError(f"nothing keeps the wait for {subject.name!r}")

    async def status(self) -> WaitStatus | None:
        return None

    async def stop(self) -> WaitStatus | None:
        return None


async def do_nothing(*_: object) -> None:
    """A fence that accepts all; a watcher that ignores all."""


async def attach_all(files: Sequence[str]) -> frozenset[str]:
    """Of a context that has none."""
    return frozenset(files)


class NoDelegate:
    """A call that has no subagent."""

    async def start(self, task_request: TaskRequest) -> SubagentStatus:
        raise AssertionError(f"nobody is there for {task_request.title!r}")

    async def status(self) -> SubagentStatus | None:
        return None

    async def stop(self) -> SubagentStatus | None:
        return None


def make_context(workspace: Workspace, *, turn: TurnContext | None = None, **others: Any) -> ToolContext:
    defaults: dict[str, Any] = {
        "attempt": "1-1-1",
        "environment": dict,
        "progress": do_nothing,
        "answers": do_nothing,
        "queue_prompt": do_nothing,
        "attach": attach_all,
        "fence": do_nothing,
        "subagent": NoDelegate(),
        "wait": NoWait(),
        "web": WebAccess(Keys(workspace.data / "auth.json"), {}),
    }
    turn = turn or TurnContext(workspace)
    return ToolContext(session=SessionId("ses_1"), call=PartId("prt_1"), turn=turn, **(defaults | others))


async def call(tool: Tool[Any], workspace: Workspace, **arguments: JsonValue) -> Output:
    """Plan and run a call. Raises ToolError."""
    params = tool.parse(arguments)
    output = await tool.run(params, await tool.plan(params, TurnContext(workspace)), make_context(workspace))
    assert isinstance(output, Output)
    return output
