"""todowrite gives the list back, for the model and for the store."""

from activities.files.workspace import Workspace
from activities.tools.todo import TodoWriteTool
from tests.activities.tools.tool_calls import call


async def test_the_list_is_given_back_and_what_is_left_is_counted(workspace: Workspace) -> None:
    todos = [
        {"content": "é", "status": "completed", "priority": "low"},
        {"content": "b", "status": "cancelled", "priority": "high"},
    ]
    output = await call(TodoWriteTool(), workspace, todos=[{**todo, "id": "1"} for todo in todos])
    assert output.metadata == {"todos": todos}
    assert output.title == "1 todos"
    assert '"content": "é"' in output.output
