"""What a call runs in."""

import pytest

from activities.store import contexts
from tests.activities.scene import Scene
from workflows.domain.errors import NotFound
from workflows.domain.ids import PartId


async def test_the_context_of_a_call_is_its_session_and_its_turns_snapshot(scene: Scene) -> None:
    await scene.open_turn(tool_output={"max_lines": 7})
    found = await contexts.of_call(scene.database, await scene.called("glob", pattern="*"))
    assert (found.directory, found.environment) == (str(scene.project), {})
    assert found.snapshot.config.tool_output.max_lines == 7


async def test_the_context_of_a_call_that_does_not_exist_is_refused(scene: Scene) -> None:
    with pytest.raises(NotFound, match="no call 'prt_x'"):
        await contexts.of_call(scene.database, PartId("prt_x"))
