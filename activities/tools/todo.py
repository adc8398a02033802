"""todowrite: the model's own list of tasks, which people see."""

from typing import Literal

from pydantic.json_schema import SkipJsonSchema

from activities.tools.arguments import Params
from activities.tools.built_in_tool import BuiltInTool
from activities.tools.tool import Output, Plan, ToolContext
from activities.turn_context import TurnContext
from workflows.domain.call_display import CallDisplay
from workflows.domain.effects import Effect, Recovery
from workflows.domain.messages import TodosReplaced
from workflows.domain.permissions.requests import PermissionRequest


class Todo(Params):
    content: str
    status: Literal["pending", "in_progress", "completed", "cancelled"]
    priority: SkipJsonSchema[Literal["high", "medium", "low"]] = "medium"  # clients expect one


class TodoWriteParams(Params):
    todos: list[Todo]


class TodoWriteTool(BuiltInTool[TodoWriteParams]):
    """Clients read the list in the metadata too."""

    name = "todowrite"
    recovery = Recovery.IDEMPOTENT
    params = TodoWriteParams
    display = CallDisplay(verb="list its tasks")

    async def plan(self, params: TodoWriteParams, turn: TurnContext) -> Plan:
        return Plan(
            requests=(PermissionRequest(permission=self.name, patterns=("*",), always=("*",)),),
            effect=Effect(
                tool=self.name, arguments=params.model_dump(mode="json"), directory=str(turn.workspace.directory)
            ),
        )

    async def run(self, params: TodoWriteParams, plan: Plan, context: ToolContext) -> Output:
        todos = [todo.model_dump(mode="json") for todo in params.todos]
        left = sum(todo.status != "completed" for todo in params.todos)
        return Output(
            title=f"{left} todos",
            output=f"Noted: {len(todos) - left} of {len(todos)} completed.",
            metadata={"todos": todos},
            changes=(TodosReplaced(todos=todos),),
        )
