"""A patch changes all of its files or none: as data of OpenCode's behaviour and by hand."""

import asyncio
import stat
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from activities.files.workspace import Workspace
from activities.tools.apply_patch.apply_patch import ApplyPatchParams, ApplyPatchTool
from activities.tools.edit.edit import EditTool
from activities.tools.file_change import EarlierEdit
from activities.tools.tool import Output, Plan
from activities.tools.write import WriteTool
from activities.turn_context import TurnContext
from tests import cases
from tests.activities.conftest import Arm
from tests.activities.tools.test_file_change import mounted
from tests.activities.tools.tool_calls import call, make_context
from tests.harness import wait_for_file
from workflows.domain.errors import OutcomeUnknown, StaleFence, ToolError
from workflows.domain.file_changes import FileChanged, FileVersion

TOOL = ApplyPatchTool()
ERRORS = {
    "patch_text_required": "^patchText is required$",
    "verification_failed": "^apply_patch verification failed: Error: Invalid patch format",
    "empty_patch": "^patch rejected: empty patch$",
    "update_target_missing": "^apply_patch verification failed: Failed to read file to update: /.*missing.txt",
    "delete_target_missing": "^apply_patch verification failed: Failed to read file to delete: /.*missing.txt",
    "lines_not_found": "^apply_patch verification failed: Error: Failed to find expected lines in /.*t.txt:\nb\nd$",
}
HOLDFAST: dict[str, Any] = {
    "the last lines of the file are changed": {"files": {"e.txt": "m\nx\nM\n"}},
    "both chunks count": {"files": {"e.txt": "A\nB\n"}},
    "the first chunk needs no @@": {"files": {"e.txt": "A\n"}},
    "the insertion stands behind the context line": {"files": {"e.txt": "fn a\nx\nfn b\n"}},
    "the destination is judged and listed too": {"permission_patterns": ["a.txt", ".env"]},
}

# Several kinds of change at once: `b.txt` comes, `c.sh` moves to `sub/c.sh`, `a.txt` changes, `d.txt` goes.
FILES = {"a.txt": "one\n", "c.sh": "#!/bin/sh\n", "d.txt": "four\n"}
MIXED = """*** Add File: b.txt
+two
*** Update File: c.sh
*** Move to: sub/c.sh
@@
 #!/bin/sh
+true
*** Update File: a.txt
@@
-one
+1
*** Delete File: d.txt"""
CHANGED = {"a.txt": "1\n", "b.txt": "two\n", "sub/c.sh": "#!/bin/sh\ntrue\n"}


def patch(body: str) -> ApplyPatchParams:
    return ApplyPatchParams(patchText=f"*** Begin Patch\n{body}\n*** End Patch")


async def patched(workspace: Workspace, body: str) -> Output:
    return await call(TOOL, workspace, patchText=patch(body).patch_text)


def contents(workspace: Workspace) -> dict[str, str]:
    root = workspace.directory
    found = [path for path in root.rglob("*") if path.is_file() and ".holdfast-" not in str(path)]
    return {str(path.relative_to(root)): path.read_bytes().decode() for path in found}


def fill(workspace: Workspace, files: Mapping[str, str]) -> None:
    for name, content in files.items():
        (workspace.directory / name).write_bytes(content.encode())


@pytest.fixture
async def planned(workspace: Workspace) -> Plan:
    """The mixed patch, in a project for it."""
    fill(workspace, FILES)
    (workspace.directory / "c.sh").chmod(0o755)
    return await TOOL.plan(patch(MIXED), TurnContext(workspace))


@pytest.mark.parametrize("case", cases.load("patch", op="apply"))
async def test_a_patch_does_what_opencode_does(case: cases.Case, workspace: Workspace) -> None:
    fill(workspace, case.input["files"])
    expected = case.expected if case.holdfast is None else case.expected | HOLDFAST[case.holdfast]
    if "error" in expected:
        with pytest.raises(ToolError, match=ERRORS[expected["error"]]):
            await call(TOOL, workspace, patchText=case.input["patch"])
        assert contents(workspace) == case.input["files"]
        return
    params = ApplyPatchParams(patchText=case.input["patch"])
    plan = await TOOL.plan(params, TurnContext(workspace))
    output = await TOOL.run(params, plan, make_context(workspace))
    assert contents(workspace) == expected["files"]
    assert list(plan.requests[-1].patterns) == expected["permission_patterns"]
    assert output.output.split("\n") == ["Success. Updated the following files:", *expected["summary"]]


async def test_the_plan_and_the_result_name_each_file_with_its_difference(workspace: Workspace, planned: Plan) -> None:
    root = workspace.directory
    context = make_context(workspace)
    output = await TOOL.run(patch(MIXED), planned, context)
    assert contents(workspace) == CHANGED
    assert stat.S_IMODE((root / "sub/c.sh").stat().st_mode) == 0o755
    assert planned.requests[0].patterns == ("b.txt", "c.sh", "sub/c.sh", "a.txt", "d.txt")
    assert [Path(each.path).name for each in planned.targets] == ["b.txt", "c.sh", "a.txt", "c.sh", "d.txt"]
    assert all(each.after is None for each in planned.targets[3:])
    files: Any = output.metadata["files"]
    assert [(each["type"], each["relativePath"], each["additions"], each["deletions"]) for each in files] == [
        ("add", "b.txt", 1, 0),
        ("move", "sub/c.sh", 1, 0),
        ("update", "a.txt", 1, 1),
        ("delete", "d.txt", 0, 1),
    ]
    assert files[1]["filePath"], files[1]["movePath"] == (str(root / "c.sh"), str(root / "sub/c.sh"))
    assert output.metadata["diff"] == "\n".join(each["patch"] for each in files) == planned.requests[0].metadata["diff"]
    assert output.changes[1] == FileChanged(file=str(root / "sub/c.sh"), additions=1, deletions=0)
    by_file = {Path(each.file).name: each for each in output.versions}
    assert sorted(by_file) == ["a.txt", "b.txt", "c.sh"] and by_file["a.txt"].replaced is not None
    assert by_file["c.sh"] == FileVersion(file=str(root / "sub/c.sh"), digest=str(planned.targets[1].after))
    assert planned.replaced == tuple(str(root / name) for name in ("b.txt", "sub/c.sh", "d.txt"))
    assert not (workspace.data / "calls" / context.call).exists()


async def test_a_patch_that_changes_nothing_says_so(workspace: Workspace) -> None:
    fill(workspace, {"a.txt": "one\n", "b.txt": "two\n"})
    same = "*** Update File: a.txt\n@@\n one\n*** Add File: b.txt\n+two"
    output = await patched(workspace, same)
    assert output.output == "Nothing was written: the files have exactly this content already."
    assert output.changes == () and output.metadata["files"] == []
    output = await patched(workspace, f"{same}\n*** Add File: c.txt\n+three")
    assert output.output.split("\n")[1:] == [
        "A c.txt",
        "Not changed, as it has this content already: a.txt",
        "Not changed, as it has this content already: b.txt",
    ]


async def test_hunks_of_one_file_are_applied_in_their_order(workspace: Workspace) -> None:
    body = "*** Add File: a\n+1\n*** Update File: a\n*** Move to: b\n@@\n-1\n+2\n*** Update File: b\n@@\n-2\n+3"
    output = await patched(workspace, body)
    assert (contents(workspace), output.output.split("\n")[1:]) == ({"b": "3\n"}, ["A b"])
    await patched(workspace, "*** Update File: b\n*** Move to: c\n*** Update File: c\n*** Move to: b\n@@\n-3\n+4")
    assert contents(workspace) == {"b": "4\n"}


async def test_one_file_that_does_not_fit_keeps_all_as_they_were(workspace: Workspace) -> None:
    fill(workspace, FILES)
    with pytest.raises(ToolError, match="Failed to find expected lines"):
        await patched(workspace, f"{MIXED}\n*** Update File: a.txt\n@@\n-none\n")
    assert contents(workspace) == FILES


@pytest.mark.parametrize("body", ["*** Delete File: link", "*** Update File: link\n*** Move to: new"])
async def test_a_link_is_followed_and_neither_deleted_nor_moved(workspace: Workspace, body: str) -> None:
    fill(workspace, FILES)
    (workspace.directory / "link").symlink_to("a.txt")
    with pytest.raises(ToolError, match="is a link"):
        await patched(workspace, body)
    await patched(workspace, "*** Update File: link\n@@\n-one\n+1")
    assert (workspace.directory / "a.txt").read_text() == "1\n" and (workspace.directory / "link").is_symlink()


@pytest.mark.parametrize(
    ("body", "permissions", "guarded"),
    [
        ("*** Add File: a\n*** Add File: .git/hooks/x\n+y", ["edit"], True),
        ("*** Add File: a\n*** Add File: ../x/a\n*** Add File: ../x/b", ["external_directory", "edit"], False),
        ("*** Add File: a\n*** Update File: d.txt\n*** Move to: ../x/d", ["external_directory", "edit"], False),
        ("*** Update File: ../x/none\n@@\n-a\n+b", ["external_directory", "edit"], False),
    ],
)
async def test_every_path_is_judged(workspace: Workspace, body: str, permissions: list[str], guarded: bool) -> None:
    fill(workspace, FILES)
    plan = await TOOL.plan(patch(body), TurnContext(workspace))
    assert [each.permission for each in plan.requests] == permissions
    assert (plan.requests[-1].guarded, bool(plan.requests[-1].always)) == (guarded, not guarded)


async def test_calls_of_one_answer_build_on_each_other(workspace: Workspace) -> None:
    fill(workspace, {"a.txt": "one\n", "b.txt": "b\n"})
    steps: list[tuple[Any, dict[str, Any]]] = [
        (EditTool(), {"filePath": "a.txt", "oldString": "one", "newString": "two"}),
        (TOOL, {"patchText": patch("*** Update File: a.txt\n*** Move to: c.txt\n@@\n-two\n+three").patch_text}),
        (EditTool(), {"filePath": "c.txt", "oldString": "three", "newString": "four"}),
        (TOOL, {"patchText": patch("*** Delete File: c.txt\n*** Add File: a.txt\n+new").patch_text}),
        (WriteTool(), {"filePath": "c.txt", "content": "last"}),
    ]
    earlier: list[EarlierEdit] = []
    plans = []
    for tool, arguments in steps:
        plans.append(await tool.plan(tool.parse(arguments), TurnContext(workspace), earlier))
        earlier.append(EarlierEdit(tool, arguments, plans[-1].paths))
    for (tool, arguments), plan in zip(steps, plans, strict=True):
        assert (await tool.plan(tool.parse(arguments), TurnContext(workspace))).effect == plan.effect
        await tool.run(tool.parse(arguments), plan, make_context(workspace))
    assert contents(workspace) == {"a.txt": "new\n", "b.txt": "b\n", "c.txt": "last"}


@asynccontextmanager
async def frozen_before(
    place: int, workspace: Workspace, plan: Plan, arm: Arm, theirs: Mapping[str, str] = MappingProxyType({})
) -> AsyncIterator[None]:
    """Within it, an attempt stands still before its change number `place`, as if its worker had died. In the end it
    goes on, overtaken by the attempts within. `theirs`: what others write before its third change."""
    gate, overtaken = workspace.data.parent / "gate", False
    fences = count(1)

    async def fence() -> None:
        if next(fences) == 3:
            fill(workspace, theirs)
        if overtaken:
            raise StaleFence("a later attempt has taken over")

    gate.unlink(missing_ok=True)
    arm(f"tool.changing_file=block:{gate}@{place}")
    attempt = asyncio.create_task(TOOL.run(patch(MIXED), plan, make_context(workspace, fence=fence)))
    await wait_for_file(gate)
    arm("")
    yield
    overtaken = True
    gate.touch()
    with pytest.raises(StaleFence):
        await attempt


@pytest.mark.parametrize("place", range(1, 6))
async def test_an_attempt_that_ended_between_two_files_is_finished_once(
    workspace: Workspace, planned: Plan, arm: Arm, place: int
) -> None:
    root = workspace.directory
    async with frozen_before(place, workspace, planned, arm):
        assert (contents(workspace) == FILES) == (place == 1)
        made = {path: path.stat().st_ino for path in (root / "b.txt", root / "sub/c.sh") if path.exists()}
        output = await TOOL.recover(patch(MIXED), planned, make_context(workspace, attempt="1-1-2"))
        assert contents(workspace) == CHANGED
        assert {path: path.stat().st_ino for path in made} == made
        assert stat.S_IMODE((root / "sub/c.sh").stat().st_mode) == 0o755
        assert output.output.split("\n")[1:] == ["A b.txt", "M sub/c.sh", "M a.txt", "D d.txt"]
        assert not (workspace.data / "calls" / "prt_1").exists()
        assert await TOOL.recover(patch(MIXED), planned, make_context(workspace, attempt="1-1-3")) == output
        fill(workspace, FILES)
    assert contents(workspace) == CHANGED | FILES


@pytest.mark.parametrize(("place", "whole"), [(1, FILES), (3, CHANGED)])
async def test_a_stopped_call_is_left_whole(
    workspace: Workspace, planned: Plan, arm: Arm, place: int, whole: dict[str, str]
) -> None:
    async with frozen_before(place, workspace, planned, arm):
        output = await TOOL.stop(patch(MIXED), planned, make_context(workspace, attempt="1-1-2"))
        assert (contents(workspace), output is None) == (whole, place == 1)


@pytest.mark.parametrize("name", ["a.txt", "c.sh", "d.txt"])
async def test_all_is_taken_back_where_others_have_changed_what_was_left(
    workspace: Workspace, planned: Plan, arm: Arm, name: str
) -> None:
    async with frozen_before(3, workspace, planned, arm):
        fill(workspace, {name: "theirs\n"})
        with pytest.raises(ToolError, match=rf"/{name}(' has changed in the meantime|:\n)"):
            await TOOL.recover(patch(MIXED), planned, make_context(workspace, attempt="1-1-2"))
        assert contents(workspace) == FILES | {name: "theirs\n"}
        assert not (workspace.data / "calls" / "prt_1").exists()
    assert contents(workspace) == FILES | {name: "theirs\n"}


@pytest.mark.parametrize("place", [4, 5])
async def test_an_attempt_that_ended_while_it_took_all_back_is_ended_so(
    workspace: Workspace, planned: Plan, arm: Arm, place: int
) -> None:
    theirs = {"a.txt": "theirs\n"}
    async with frozen_before(place, workspace, planned, arm, theirs):
        assert (workspace.directory / "b.txt").exists() and (workspace.directory / "sub/c.sh").exists() == (place == 4)
        with pytest.raises(ToolError, match="Failed to find expected lines"):
            await TOOL.recover(patch(MIXED), planned, make_context(workspace, attempt="1-1-2"))
        assert contents(workspace) == FILES | theirs
    assert contents(workspace) == FILES | theirs


async def test_what_others_have_changed_after_it_is_unknown(workspace: Workspace, planned: Plan, arm: Arm) -> None:
    async with frozen_before(4, workspace, planned, arm):
        fill(workspace, {"sub/c.sh": "theirs\n"})
        left = contents(workspace)
        with pytest.raises(OutcomeUnknown, match=r"sub/c\.sh.*\n\n[^$]*\+two"):
            await TOOL.recover(patch(MIXED), planned, make_context(workspace, attempt="1-1-2"))
        assert contents(workspace) == left
        assert (workspace.data / "calls" / "prt_1" / "before-1").exists() is False  # it was not there before
        assert (workspace.data / "calls" / "prt_1" / "before-2").read_text() == "one\n"


async def test_a_change_that_fails_takes_back_those_before_it(workspace: Workspace, planned: Plan) -> None:
    fences = 0

    async def changes() -> None:
        nonlocal fences
        fences += 1
        if fences == 3:
            fill(workspace, {"a.txt": "theirs\n"})

    with pytest.raises(ToolError, match=r"a\.txt' has changed in the meantime; nothing was written"):
        await TOOL.run(patch(MIXED), planned, make_context(workspace, fence=changes))
    assert contents(workspace) == FILES | {"a.txt": "theirs\n"}
    assert stat.S_IMODE((workspace.directory / "c.sh").stat().st_mode) == 0o755


async def test_a_mounted_file_is_overwritten_and_taken_back(workspace: Workspace) -> None:
    fill(workspace, {"source": "one\n", "a.txt": "", "b.txt": "b\n"})
    body = "*** Update File: a.txt\n@@\n-one\n+1\n*** Update File: b.txt\n@@\n-b\n+B"
    with mounted("--bind", str(workspace.directory / "source"), str(workspace.directory / "a.txt")):
        await patched(workspace, body)
        assert contents(workspace) == {"source": "1\n", "a.txt": "1\n", "b.txt": "B\n"}
        fill(workspace, {"a.txt": "one\n", "b.txt": "b\n"})
        with pytest.raises(ToolError, match="Device or resource busy"):
            await patched(workspace, f"{body}\n*** Delete File: a.txt")
        assert contents(workspace) == {"source": "one\n", "a.txt": "one\n", "b.txt": "b\n"}


async def test_a_folder_that_may_not_be_written_keeps_all_as_they_were(unprivileged: Workspace) -> None:
    (unprivileged.directory / "fixed").mkdir()
    fill(unprivileged, {"a.txt": "one\n", "fixed/b.txt": "b\n"})
    (unprivileged.directory / "fixed").chmod(0o555)
    with pytest.raises(ToolError, match="Permission denied"):
        await patched(unprivileged, "*** Update File: a.txt\n@@\n-one\n+1\n*** Delete File: fixed/b.txt")
    (unprivileged.directory / "fixed").chmod(0o755)
    assert contents(unprivileged) == {"a.txt": "one\n", "fixed/b.txt": "b\n"}
