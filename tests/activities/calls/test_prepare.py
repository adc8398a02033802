"""Prepared calls: names repaired, arguments read, the effect determined."""

from pathlib import Path

import pytest
from pydantic import JsonValue

from activities.calls.permissions import PermissionEvaluator
from activities.calls.prepare import CallPreparer, in_order
from activities.files.workspace import Workspace
from activities.store.calls import CallRow
from activities.tools.invalid import is_cut
from activities.tools.registry import TOOLS
from activities.turn_context import TurnContext
from tests.activities.rig import ActivityRig
from workflows.domain.ids import GenerationId, MessageId, SessionId, TurnId
from workflows.domain.messages import RequestedCall
from workflows.domain.permissions.rulesets import Rulesets
from workflows.domain.wire import GenerateRequest

STEP = GenerateRequest(
    session=SessionId("ses_1"), epoch=1, sequence=1, turn=TurnId("trn_1"), step=1, generation=GenerationId("gen_1")
)
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


@pytest.fixture
def preparer(tmp_path: Path) -> CallPreparer:
    (tmp_path / "a.txt").write_text("hello\n")
    workspace = Workspace(directory=tmp_path, worktree=None, data=tmp_path, home=tmp_path, temporary=tmp_path)
    return CallPreparer(STEP, MessageId("msg_1"), TOOLS, TurnContext(workspace), offered=("bash", "edit"))


async def prepare(preparer: CallPreparer, name: str, arguments: str) -> CallRow:
    return await preparer.prepare(0, RequestedCall("c1", name, arguments))


async def test_a_call_is_planned(preparer: CallPreparer) -> None:
    call = await prepare(preparer, "read", '{"filePath": "a.txt"}')
    assert call.plan is not None and [request.permission for request in call.plan.requests] == ["read"]
    assert not call.display.mended


async def test_a_call_that_names_its_files_within_a_text_is_shown_by_them(preparer: CallPreparer) -> None:
    text = "*** Begin Patch\\n*** Delete File: a.txt\\n*** Add File: sub/b.txt\\n*** End Patch"
    call = await prepare(preparer, "apply_patch", f'{{"patchText": "{text}"}}')
    assert call.display.about == "sub/b.txt, a.txt"
    assert (await prepare(preparer, "read", '{"filePath": "a.txt"}')).display.about == ""


async def test_a_name_in_the_wrong_case_is_repaired(preparer: CallPreparer) -> None:
    assert (await prepare(preparer, "Read", '{"filePath": "a.txt"}')).tool == "read"


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("fly", "{}", "unavailable tool 'fly'. Available tools: bash, edit."),
        ("read", '{"filePath": "a', "Invalid input for tool read: JSON parsing failed:"),
        ("read", "[1]", "a JSON object is expected"),
        ("read", '"[1]"', "a JSON object is expected"),
        ("read", '{"limit": 1,,}', "JSON parsing failed"),
        ("read", '{"offset": NaN}', "NaN is no JSON"),
        ("read", "[" * 100_000, "JSON parsing failed"),
        ("invalid", "{}", "unavailable tool 'invalid'"),
    ],
)
async def test_what_cannot_be_called_becomes_an_invalid_call(
    preparer: CallPreparer, name: str, arguments: str, said: str
) -> None:
    call = await prepare(preparer, name, arguments)
    assert call.tool == "invalid" and said in str(call.arguments["error"])
    assert str(call.arguments["arguments"])[:5000] == arguments[:5000]
    assert len(str(call.arguments["arguments"])) < 10_010


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        ('{"filePath": "a\n\tb"}', {"filePath": "a\n\tb"}),
        ('{"filePath": "a,]\\",}", "limit": [1,\n],}', {"filePath": 'a,]",}', "limit": [1]}),
        ('"{\\"filePath\\": \\"a\\"}"', {"filePath": "a"}),
    ],
)
async def test_arguments_with_one_meaning_are_mended_and_the_record_says_so(
    preparer: CallPreparer, arguments: str, meant: dict[str, JsonValue]
) -> None:
    call = await prepare(preparer, "read", arguments)
    assert (call.tool, call.arguments, call.display.mended) == ("read", meant, True)


async def test_long_broken_arguments_are_looked_at_once(preparer: CallPreparer) -> None:
    call = await prepare(preparer, "write", '{"content": "' + '\\"' * 1_000_000)
    assert call.tool == "invalid"


@pytest.mark.parametrize(
    ("arguments", "tool"), [("", "invalid"), ('{"a', "invalid"), ('{"filePath": "a.txt"}', "read")]
)
async def test_a_call_that_was_cut_becomes_an_invalid_call(preparer: CallPreparer, arguments: str, tool: str) -> None:
    call = await preparer.prepare(0, RequestedCall("c1", "read", arguments), cut=True)
    assert (call.tool, is_cut(call.tool, call.arguments)) == (tool, tool == "invalid")


async def test_wrong_arguments_stay_with_the_tool_that_will_say_so(preparer: CallPreparer) -> None:
    call = await prepare(preparer, "read", '{"filePath": 5}')
    assert (call.tool, call.plan) == ("read", None)


async def test_equal_calls_have_equal_loop_digests(preparer: CallPreparer) -> None:
    one, two, other = [
        await prepare(preparer, "read", f'{{"filePath": "{name}", "limit": 1}}') for name in ("a", "a", "b")
    ]
    assert one.loop_digest == two.loop_digest != other.loop_digest


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
    assert [call.waits_for for call in PermissionEvaluator(Rulesets(), ()).open_calls(in_order(rows))] == waits


async def test_a_call_that_changes_two_files_stands_before_what_changes_either(preparer: CallPreparer) -> None:
    first, second = [
        await preparer.prepare(at, RequestedCall(f"c{at}", "write", f'{{"filePath": "{name}", "content": "x"}}'))
        for at, name in enumerate(("b.txt", "c.txt"))
    ]
    assert first.plan is not None and second.plan is not None
    effect = first.plan.effect.model_copy(update={"targets": (*first.plan.targets, *second.plan.targets)})
    both = first.model_copy(update={"plan": first.plan.model_copy(update={"effect": effect})})
    assert [call.waits_for for call in in_order([first, second])] == [(), ()]
    assert [call.waits_for for call in in_order([both, second])] == [(), (0,)]
