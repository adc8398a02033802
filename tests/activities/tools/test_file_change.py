"""A change of a file is agreed on to the byte, made once, and reconciled after a crash."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from activities.files.workspace import Workspace
from activities.tools.edit.edit import EditParams, EditTool
from activities.tools.tool import Plan
from activities.tools.write import WriteParams, WriteTool
from activities.turn_context import TurnContext
from tests.activities.tools.tool_calls import call, make_context
from workflows.domain.errors import OutcomeUnknown, StaleFence, ToolError
from workflows.domain.permissions.rules import Action, from_config
from workflows.domain.permissions.rulesets import Rulesets


@dataclass
class Call:
    """A planned edit of `a.txt` from one to two; `left` is an earlier attempt's leftover."""

    workspace: Workspace
    params: EditParams
    plan: Plan

    @property
    def file(self) -> Path:
        return self.workspace.directory / "a.txt"

    @property
    def left(self) -> Path:
        return self.workspace.directory / ".holdfast-prt_1-1-1-1"


def asked(path: str, old: str = "one", new: str = "two") -> EditParams:
    return EditParams(filePath=path, oldString=old, newString=new)


@contextmanager
def mounted(*arguments: str) -> Iterator[None]:
    """`mount` with these, of which the last is the place; skips the test where it may not."""
    tried = subprocess.run(["mount", *arguments], capture_output=True, text=True)
    if tried.returncode:
        pytest.skip(f"nothing can be mounted here: {tried.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", arguments[-1]], check=True)


@pytest.fixture
async def planned(workspace: Workspace) -> Call:
    (workspace.directory / "a.txt").write_text("one\n")
    return Call(workspace, asked("a.txt"), await EditTool().plan(asked("a.txt"), TurnContext(workspace)))


async def test_the_plan_says_exactly_what_will_be_written(planned: Call) -> None:
    (own,) = planned.plan.requests
    assert str(own.metadata["diff"]).endswith("@@ -1,1 +1,1 @@\n-one\n+two\n")
    assert planned.plan.paths == (str(planned.file),)
    assert planned.file.read_text() == "one\n"


async def test_another_base_makes_another_record(planned: Call) -> None:
    planned.file.write_text("one\nmore\n")
    assert (
        await EditTool().plan(planned.params, TurnContext(planned.workspace))
    ).effect.digest != planned.plan.effect.digest


async def test_nothing_is_written_over_what_changed_since_the_plan(planned: Call) -> None:
    planned.file.write_text("one\nmore\n")
    with pytest.raises(ToolError, match="changed in the meantime"):
        await EditTool().run(planned.params, planned.plan, make_context(planned.workspace))
    assert planned.file.read_text() == "one\nmore\n"


async def test_an_attempt_that_died_before_the_rename_is_finished(planned: Call) -> None:
    planned.left.write_text("tw")
    output = await EditTool().recover(planned.params, planned.plan, make_context(planned.workspace, attempt="1-1-2"))
    assert output.output == "Edit applied successfully."
    assert planned.file.read_text() == "two\n"
    assert not planned.left.exists()


async def test_an_attempt_that_died_after_the_rename_is_not_repeated(planned: Call) -> None:
    first = await EditTool().run(planned.params, planned.plan, make_context(planned.workspace))
    written = planned.file.stat().st_ino
    second = await EditTool().recover(planned.params, planned.plan, make_context(planned.workspace, attempt="1-1-2"))
    assert planned.file.stat().st_ino == written
    assert second == first


async def test_the_note_of_a_forgiven_edit_survives_a_crash_after_the_rename(workspace: Workspace) -> None:
    (workspace.directory / "a.txt").write_text("  one  1\n")
    params = asked("a.txt", "one 1", "two 2")
    plan = await EditTool().plan(params, TurnContext(workspace))
    first = await EditTool().run(params, plan, make_context(workspace))
    assert first.output == (
        "Edit applied successfully. The passage differed from oldString in white space. Now it reads:\n1:   two 2"
    )
    assert await EditTool().recover(params, plan, make_context(workspace, attempt="1-1-2")) == first


async def test_content_that_is_neither_before_nor_after_is_unknown(planned: Call) -> None:
    planned.left.write_text("two\n")
    planned.file.write_text("three\n")
    with pytest.raises(OutcomeUnknown, match=r"a\.txt[^$]*\+two"):
        await EditTool().recover(planned.params, planned.plan, make_context(planned.workspace, attempt="1-1-2"))
    assert planned.file.read_text() == "three\n"
    assert not planned.left.exists()


async def test_a_directory_in_the_place_of_the_file_is_unknown(planned: Call) -> None:
    planned.file.unlink()
    planned.file.mkdir()
    with pytest.raises(OutcomeUnknown):
        await EditTool().recover(planned.params, planned.plan, make_context(planned.workspace, attempt="1-1-2"))


async def test_an_overtaken_recovery_touches_nothing(planned: Call) -> None:
    planned.left.write_text("of a later attempt")

    async def overtaken() -> None:
        raise StaleFence("a later attempt has taken over")

    with pytest.raises(StaleFence):
        await EditTool().recover(planned.params, planned.plan, make_context(planned.workspace, fence=overtaken))
    assert planned.left.exists()


async def test_of_two_edits_planned_together_the_second_has_to_be_planned_again(planned: Call) -> None:
    planned.file.write_text("one\nlast\n")
    workspace, other = planned.workspace, asked("a.txt", "last", "end")
    first, second = (
        await EditTool().plan(planned.params, TurnContext(workspace)),
        await EditTool().plan(other, TurnContext(workspace)),
    )
    await EditTool().run(planned.params, first, make_context(workspace))
    with pytest.raises(ToolError, match="changed in the meantime"):
        await EditTool().run(other, second, make_context(workspace))
    await EditTool().run(other, await EditTool().plan(other, TurnContext(workspace)), make_context(workspace))
    assert planned.file.read_text() == "two\nend\n"


async def test_what_is_wrong_inside_the_project_is_said_before_any_question(workspace: Workspace) -> None:
    with pytest.raises(ToolError, match="not found"):
        await EditTool().plan(asked("gone.txt"), TurnContext(workspace))


async def test_nothing_is_told_of_a_file_outside_before_a_yes(workspace: Workspace) -> None:
    secret = workspace.directory.parent / "secret.txt"
    secret.write_text("nothing of the kind\n")
    plan = await EditTool().plan(asked(str(secret)), TurnContext(workspace))
    assert [request.permission for request in plan.requests] == ["external_directory", "edit"]
    with pytest.raises(ToolError, match="Could not find oldString"):
        await EditTool().run(asked(str(secret)), plan, make_context(workspace))


@pytest.mark.parametrize("action", [Action.ASK, Action.DENY])
async def test_lines_of_a_file_that_may_not_be_read_unasked_are_in_no_message(
    workspace: Workspace, action: Action
) -> None:
    file = workspace.directory / ".env"
    file.write_text("  KEY = secret value\n")
    turn = TurnContext(workspace, Rulesets.of(from_config({"*": Action.ALLOW, "read": {"*.env": action}}, "/home/u")))
    with pytest.raises(ToolError, match="Could not find oldString") as refused:
        await EditTool().plan(asked(".env", "KEY = secret velue"), turn)
    plan = await EditTool().plan(asked(".env", "KEY =  secret value", "KEY = other"), turn)
    output = await EditTool().run(
        asked(".env", "KEY =  secret value", "KEY = other"), plan, make_context(workspace, turn=turn)
    )
    assert "\n" not in f"{refused.value}{output.output}"
    assert output.output.startswith("Edit applied successfully. The passage differed from oldString in white space.")


async def test_a_read_only_file_stays_as_it_is(unprivileged: Workspace) -> None:
    file = unprivileged.directory / "a.txt"
    file.write_text("one\n")
    file.chmod(0o444)
    with pytest.raises(ToolError, match="read-only"):
        await EditTool().plan(asked("a.txt"), TurnContext(unprivileged))


async def test_a_directory_that_may_not_be_written_gets_no_file_and_keeps_those_with_other_names(
    unprivileged: Workspace,
) -> None:
    file = unprivileged.directory / "a.txt"
    file.write_text("one\n")
    file.with_name("b.txt").hardlink_to(file)
    plan = await EditTool().plan(asked("a.txt"), TurnContext(unprivileged))
    unprivileged.directory.chmod(0o555)
    with pytest.raises(ToolError, match="Permission denied"):
        await EditTool().run(asked("a.txt"), plan, make_context(unprivileged))
    with pytest.raises(ToolError, match="Permission denied"):
        await call(WriteTool(), unprivileged, filePath="new.txt", content="x")
    unprivileged.directory.chmod(0o755)
    assert file.read_text() == "one\n"
    assert not list(unprivileged.directory.glob(".holdfast-*"))


async def test_an_own_file_in_a_directory_that_may_not_be_written_is_overwritten(unprivileged: Workspace) -> None:
    file = unprivileged.directory / "a.txt"
    file.write_text("one one\n")
    unprivileged.directory.chmod(0o555)
    output = await call(EditTool(), unprivileged, filePath="a.txt", oldString="one one", newString="two")
    unprivileged.directory.chmod(0o755)
    assert (output.output, file.read_text()) == ("Edit applied successfully.", "two\n")
    assert not (unprivileged.data / "calls" / "prt_1").exists()


async def test_a_mounted_file_is_overwritten(workspace: Workspace) -> None:
    source, file = workspace.directory / "source.txt", workspace.directory / "a.txt"
    for each in (source, file):
        each.write_text("one\n")
    with mounted("--bind", str(source), str(file)):
        await call(EditTool(), workspace, filePath="a.txt", oldString="one", newString="one\ntwo")
        await call(WriteTool(), workspace, filePath="a.txt", content="3")
        assert file.read_text() == "3"
    assert (source.read_text(), file.read_text()) == ("3", "one\n")
    assert sorted(path.name for path in workspace.directory.iterdir()) == [".git", "a.txt", "source.txt"]


async def test_a_mounted_file_that_others_change_meanwhile_is_left_alone(workspace: Workspace) -> None:
    source, file = workspace.directory / "source.txt", workspace.directory / "a.txt"
    for each in (source, file):
        each.write_text("one\n")

    async def changed() -> None:
        source.write_text("theirs\n")

    with mounted("--bind", str(source), str(file)):
        plan = await EditTool().plan(asked("a.txt"), TurnContext(workspace))
        with pytest.raises(ToolError, match="changed in the meantime"):
            await EditTool().run(asked("a.txt"), plan, make_context(workspace, fence=changed))
    assert source.read_text() == "theirs\n"


async def test_a_file_system_that_is_full_keeps_the_old_content(workspace: Workspace) -> None:
    folder = workspace.directory / "full"
    folder.mkdir()
    with mounted("-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)):
        file = folder / "a.txt"
        file.write_text("one\n")
        with mounted("--bind", str(file), str(file)):
            subprocess.run(["mount", "-o", "remount,bind,ro", str(folder)], check=True)
            with pytest.raises(ToolError, match="cannot be written: No space left"):
                await call(WriteTool(), workspace, filePath="full/a.txt", content="x" * 100_000)
            assert file.read_text() == "one\n"
            await call(WriteTool(), workspace, filePath="full/a.txt", content="two\n")
            assert file.read_text() == "two\n"


async def test_an_overwriting_that_was_cut_says_where_the_old_content_is(planned: Call) -> None:
    kept = planned.workspace.data / "calls" / "prt_1" / "before-0"
    kept.parent.mkdir(parents=True)
    kept.write_text("one\n")
    planned.file.write_text("tw")
    with pytest.raises(OutcomeUnknown, match=rf"content from before is in {kept}[^$]*\+two"):
        await EditTool().recover(planned.params, planned.plan, make_context(planned.workspace, attempt="1-1-2"))


async def test_a_file_system_that_takes_no_writes_is_named_as_the_reason(workspace: Workspace) -> None:
    folder = workspace.directory / "fixed"
    folder.mkdir()
    read_only = mounted("-t", "tmpfs", "-o", "ro", "tmpfs", str(folder))
    with read_only, pytest.raises(ToolError, match="Read-only file system"):
        await call(WriteTool(), workspace, filePath="fixed/new.txt", content="x")


async def test_an_edit_by_a_link_is_judged_and_made_where_it_leads(planned: Call) -> None:
    (planned.workspace.directory / "link").symlink_to("a.txt")
    plan = await EditTool().plan(asked("link"), TurnContext(planned.workspace))
    await EditTool().run(asked("link"), plan, make_context(planned.workspace))
    assert (plan.requests[0].patterns, plan.paths) == (("a.txt",), (str(planned.file),))
    assert (planned.workspace.directory / "link").is_symlink()
    assert planned.file.read_text() == "two\n"


async def test_a_huge_file_is_refused_before_it_is_read(workspace: Workspace) -> None:
    with (workspace.directory / "huge").open("wb") as file:
        file.write(b"one\n")
        file.truncate(5 * 1024**3)
    with pytest.raises(ToolError, match="too much for this tool"):
        await EditTool().plan(asked("huge"), TurnContext(workspace))
    with pytest.raises(ToolError, match="too much for this tool"):
        await WriteTool().plan(WriteParams(filePath="huge", content="x"), TurnContext(workspace))
