"""todowrite stores the list, and counts it."""

from activities.files.workspace import Workspace
from activities.tools.todo import TodoWriteTool
from tests.activities.tools.tool_calls import call


async def test_the_list_is_stored_and_what_is_done_is_counted(workspace: Workspace) -> None:
    todos = [
        {"content": "é", "status": "completed", "priority": "low"},
        {"content": "b", "status": "cancelled"},
    ]
    output = await call(TodoWriteTool(), workspace, todos=[{**todo, "id": "1"} for todo in todos])
    assert output.metadata == {"todos": [todos[0], {**todos[1], "priority": "medium"}]}  # clients expect one
    assert output.title == "1 todos"
    assert output.output == "Noted: 1 of 2 completed."
