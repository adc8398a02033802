"""TOOLS: the built-in tools, by name."""

from typing import Any, Final

from activities.tools.bash import BashTool
from activities.tools.built_in_tool import BuiltInTool
from activities.tools.edit.edit import EditTool
from activities.tools.glob import GlobTool
from activities.tools.grep import GrepTool
from activities.tools.invalid import InvalidTool
from activities.tools.question import QuestionTool
from activities.tools.read import ReadTool
from activities.tools.task import TaskTool
from activities.tools.todo import TodoWriteTool
from activities.tools.wait import WaitTool
from activities.tools.write import WriteTool

TOOLS: Final[dict[str, BuiltInTool[Any]]] = {
    tool.name: tool
    for tool in (
        InvalidTool(),
        QuestionTool(),
        BashTool(),
        ReadTool(),
        GlobTool(),
        GrepTool(),
        EditTool(),
        WriteTool(),
        TodoWriteTool(),
        TaskTool(),
        WaitTool(),
    )
}
