"""TOOLS: the built-in tools, by name."""

from typing import Any, Final

from activities.tools.agent_switch import AgentSwitchTool
from activities.tools.apply_patch.apply_patch import ApplyPatchTool
from activities.tools.bash import BashTool
from activities.tools.built_in_tool import BuiltInTool
from activities.tools.edit.edit import EditTool
from activities.tools.glob import GlobTool
from activities.tools.grep import GrepTool
from activities.tools.invalid import InvalidTool
from activities.tools.question import QuestionTool
from activities.tools.read import ReadTool
from activities.tools.skill import SkillTool
from activities.tools.task import TaskTool
from activities.tools.todo import TodoWriteTool
from activities.tools.wait import WaitTool
from activities.tools.webfetch import WebFetchTool
from activities.tools.websearch import WebSearchTool
from activities.tools.write import WriteTool
from workflows.domain.agents.built_in import BUILD, PLAN

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
        ApplyPatchTool(),
        TaskTool(),
        WebFetchTool(),
        TodoWriteTool(),
        WebSearchTool(),
        SkillTool(),
        WaitTool(),
        AgentSwitchTool("plan_enter", PLAN, "Make a plan first, with nothing changed meanwhile?"),
        AgentSwitchTool("plan_exit", BUILD, "Leave plan mode, and carry this out?"),
    )
}
