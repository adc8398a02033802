"""A scratch project, and calls of tools in it: planned and run as the worker does it, without a ledger."""

from pathlib import Path
from typing import Any

from pydantic import JsonValue

from activities.files.place import Place
from activities.tools.arguments import validated
from activities.tools.tool import Child, Errand, Output, Surroundings, Tool
from workflows.domain.ids import PartId, SessionId


def project(scratch: Path) -> Place:
    """`ws/proj`, a git work tree, in an empty directory."""
    place = Place(
        directory=scratch / "ws" / "proj",
        worktree=scratch / "ws" / "proj",
        data=scratch / "data",
        home=scratch / "home",
        temporary=scratch / "tmp",
    )
    (place.directory / ".git").mkdir(parents=True)
    return place


async def nothing(*_: object) -> None:
    """A fence that lets everybody through; a watcher who does not look."""


class Nobody:
    """A call that no subagent works for, and none will."""

    async def start(self, errand: Errand) -> Child:
        raise AssertionError(f"nobody is there for {errand.title!r}")

    async def look(self) -> Child | None:
        return None

    async def stop(self) -> Child | None:
        return None


def surroundings(place: Place, *, attempt: str = "1-1-1", **others: Any) -> Surroundings:
    defaults: dict[str, Any] = {"environment": {}, "progress": nothing, "fence": nothing, "delegate": Nobody()}
    return Surroundings(
        session=SessionId("ses_1"), call=PartId("prt_1"), attempt=attempt, place=place, **(defaults | others)
    )


async def call(tool: Tool[Any], place: Place, **arguments: JsonValue) -> Output:
    """Plan and run a call. Raises ToolError."""
    params = validated(tool, arguments)
    output = await tool.run(params, await tool.plan(params, place), surroundings(place))
    assert isinstance(output, Output)
    return output
