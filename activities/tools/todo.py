"""todowrite: the list of tasks that a model keeps for itself and shows to people."""

import json

from activities.files.place import Place
from activities.tools.tool import Output, Params, Plan, Surroundings, Tool
from workflows.domain.effects import Effect, Recovery
from workflows.domain.permissions.requests import PermissionRequest


class Todo(Params):
    """One task; status and priority are free text, as in OpenCode."""

    content: str
    status: str
    priority: str


class TodoWriteParams(Params):
    """Arguments of todowrite."""

    todos: list[Todo]


class TodoWrite(Tool[TodoWriteParams]):
    """Replaces the session's list; the list itself travels in the metadata and is stored with the outcome."""

    name = "todowrite"
    recovery = Recovery.IDEMPOTENT
    params = TodoWriteParams

    async def plan(self, params: TodoWriteParams, place: Place) -> Plan:
        return Plan(
            requests=(PermissionRequest(permission=self.name, patterns=("*",), always=("*",)),),
            effect=Effect(tool=self.name, arguments=params.model_dump(mode="json"), directory=str(place.directory)),
        )

    async def run(self, params: TodoWriteParams, plan: Plan, around: Surroundings) -> Output:
        todos = [todo.model_dump(mode="json") for todo in params.todos]
        left = sum(todo.status != "completed" for todo in params.todos)
        return Output(
            title=f"{left} todos",
            output=json.dumps(todos, indent=2, ensure_ascii=False),
            metadata={"todos": todos},
        )
