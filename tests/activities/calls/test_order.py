"""What each kind of call waits for."""

import pytest
from pydantic import JsonValue

from activities.calls.order import in_order
from activities.calls.permissions import PermissionEvaluator
from tests.activities.rig import ActivityRig

Requested = tuple[str, dict[str, JsonValue]]

WRITE: Requested = ("write", {"filePath": "sub/a.txt", "content": "x"})
EDIT: Requested = ("edit", {"filePath": "sub/a.txt", "oldString": "x", "newString": "y"})
BROKEN: Requested = ("edit", {"filePath": "b.txt", "oldString": "gone", "newString": "y"})
READ: Requested = ("read", {"filePath": "sub/a.txt"})
OTHER: Requested = ("read", {"filePath": "b.txt"})
GREP: Requested = ("grep", {"pattern": "x", "path": "sub"})
GLOB: Requested = ("glob", {"pattern": "*"})
LOOKS: Requested = ("bash", {"command": "cat sub/a.txt | sort"})
WRITES: Requested = ("bash", {"command": "echo x > c.txt"})
UNCLEAR: Requested = ("bash", {"command": 'eval "$X"'})
TODO: Requested = ("todowrite", {"todos": []})
TASK: Requested = ("task", {"description": "Look", "prompt": "Look.", "subagent_type": "explore"})
WAIT: Requested = ("wait", {"seconds": 60})


@pytest.mark.parametrize(
    ("calls", "waits"),
    [
        ((READ, WRITE, READ, OTHER, GREP, GLOB), [(), (0,), (1,), (), (1,), (1,)]),
        ((WRITE, EDIT, LOOKS, LOOKS), [(), (0,), (0, 1), (0, 1)]),
        ((READ, LOOKS, WRITES, READ, TODO), [(), (), (0, 1), (2,), ()]),
        ((LOOKS, UNCLEAR, LOOKS), [(), (0,), (1,)]),
        ((WRITE, BROKEN, OTHER), [(), (0,), (1,)]),
        ((WRITE, TASK, WAIT, TODO), [(), (0,), (0,), ()]),
        ((("read", {"offset": "first"}), WRITE, ("read", {"offset": "first"})), [(), (0,), (1,)]),
    ],
)
async def test_a_call_waits_for_what_it_could_see(
    rig: ActivityRig, calls: tuple[Requested, ...], waits: list[tuple[int, ...]]
) -> None:
    (rig.project / "b.txt").write_text("b\n")
    await rig.open_turn()
    rows = [await rig.row(call) for call in await rig.answered(*calls)]
    assert [call.waits_for for call in in_order(rows)] == waits
    assert [call.waits_for for call in PermissionEvaluator((), ()).open_calls(in_order(rows))] == waits
