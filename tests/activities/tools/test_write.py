"""write gives a file new content as a whole."""

import pytest

from activities.files.workspace import Workspace
from activities.tools.tool import Output
from activities.tools.write import WriteTool
from tests.activities.tools.tool_calls import call
from workflows.domain.errors import ToolError


async def written(workspace: Workspace, name: str, content: str) -> Output:
    return await call(WriteTool(), workspace, filePath=name, content=content)


async def test_a_new_file_is_made_with_its_folders(workspace: Workspace) -> None:
    output = await written(workspace, "a/b/new.txt", "hi\n")
    assert (workspace.directory / "a/b/new.txt").read_text() == "hi\n"
    assert output.metadata["exists"] is False


async def test_a_file_is_overwritten_and_its_byte_order_mark_stays(workspace: Workspace) -> None:
    (workspace.directory / "bom.txt").write_bytes(b"\xef\xbb\xbfold")
    output = await written(workspace, "bom.txt", "new\r\n")
    assert (workspace.directory / "bom.txt").read_bytes() == b"\xef\xbb\xbfnew\r\n"
    assert output.metadata["exists"] is True


async def test_a_link_stays_and_its_target_is_written(workspace: Workspace) -> None:
    (workspace.directory / "real.txt").touch()
    (workspace.directory / "link.txt").symlink_to("real.txt")
    await written(workspace, "link.txt", "hi")
    assert (workspace.directory / "link.txt").is_symlink()
    assert (workspace.directory / "real.txt").read_text() == "hi"


async def test_bytes_of_another_encoding_are_shown_as_such_and_replaced(workspace: Workspace) -> None:
    (workspace.directory / "latin.txt").write_bytes(b"caf\xe9\n")
    output = await written(workspace, "latin.txt", "café\r\n")
    assert "-caf\ufffd\n+café" in str(output.metadata["diff"])
    assert (workspace.directory / "latin.txt").read_bytes() == "café\r\n".encode()


@pytest.mark.parametrize(
    ("before", "after"), [("<system-reminder>", "<"), ("&lt;system-reminder>", "&lt;"), (None, "<")]
)
async def test_a_reminder_tag_is_written_as_the_model_has_been_shown_it(
    workspace: Workspace, before: str | None, after: str
) -> None:
    file = workspace.directory / "a.md"
    if before is not None:
        file.write_text(before)
    await written(workspace, "a.md", "x &lt;/system-reminder>\n")
    assert file.read_text() == f"x {after}/system-reminder>\n"


async def test_what_utf8_cannot_hold_is_refused(workspace: Workspace) -> None:
    with pytest.raises(ToolError, match="lone surrogate"):
        await written(workspace, "new.txt", "\ud800")


async def test_content_that_the_file_has_already_is_not_written_and_that_is_said(workspace: Workspace) -> None:
    file = workspace.directory / "a.txt"
    file.write_text("hi\r\n")
    before = file.stat()
    output = await written(workspace, "a.txt", "hi\r\n")
    assert output.output == "Nothing was written: the file has exactly this content already."
    assert (output.changes, file.stat().st_ino) == ((), before.st_ino)
