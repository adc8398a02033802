"""read shows files of any size and kind, directories, and nothing before it is permitted."""

from base64 import b64decode, b64encode
from io import BytesIO
from typing import Any

import pytest
from PIL import Image

from activities.files.image_size import MAX_PICTURE_CHARS
from activities.files.workspace import Workspace
from activities.tools.edit.edit import EditTool
from activities.tools.glob import GlobTool
from activities.tools.grep import GrepTool
from activities.tools.read import MAX_PDF_BYTES, MAX_PICTURE_FILE_BYTES, ReadParams, ReadTool
from activities.tools.tool import Output, Tool
from activities.turn_context import TurnContext
from tests.activities.tools.tool_calls import call, make_context
from workflows.domain.context.truncate import OutputLimits
from workflows.domain.errors import ToolError


async def read(workspace: Workspace, path: str, **more: int) -> Output:
    return await call(ReadTool(), workspace, filePath=path, **more)


async def test_a_directory_is_listed_page_by_page(workspace: Workspace) -> None:
    for name in ("b", "a", "c"):
        (workspace.directory / "src" / name).mkdir(parents=True)
    whole, part = await read(workspace, "src"), await read(workspace, "src", offset=2, limit=1)
    folder = f"<path>{workspace.directory}/src</path>\n<type>directory</type>\n<entries>"
    assert whole.output == f"{folder}\na/\nb/\nc/\n\n(3 entries)\n</entries>"
    beyond = "Use 'offset' parameter to read beyond entry 2"
    assert part.output == f"{folder}\nb/\n\n(Showing 1 of 3 entries. {beyond})\n</entries>"
    assert (whole.title, whole.truncated, part.truncated) == ("src", False, True)


async def test_the_metadata_says_what_is_displayed(workspace: Workspace) -> None:
    (workspace.directory / "a.txt").write_text("\n".join(str(n) for n in range(1, 31)))
    output = await read(workspace, "a.txt", offset=3, limit=25)
    assert output.metadata["preview"] == "\n".join(str(n) for n in range(3, 23))
    assert output.metadata["display"] == {
        "type": "file",
        "path": str(workspace.directory / "a.txt"),
        "text": "\n".join(str(n) for n in range(3, 28)),
        "lineStart": 3,
        "lineEnd": 27,
        "totalLines": 30,
        "truncated": True,
    }


async def test_a_file_too_large_to_count_is_shown_without_a_total(workspace: Workspace) -> None:
    with (workspace.directory / "huge.log").open("wb") as file:
        file.write(b"first\nsecond\n" + b"x" * 5000)
        file.truncate(5 * 1024**3)
    output = await read(workspace, "huge.log", limit=1)
    assert "(Showing lines 1-1. Use offset=2 to continue.)" in output.output
    with pytest.raises(ToolError, match="very large file"):
        await read(workspace, "huge.log", offset=9)


async def test_lines_for_which_there_is_no_room_are_said_to_be_left_out(workspace: Workspace) -> None:
    (workspace.directory / "a.txt").write_text(f"{'x' * 99}\n" * 100)
    turn = TurnContext(workspace, limits=OutputLimits(max_bytes=1_000))
    params = ReadParams.model_validate({"filePath": "a.txt", "offset": 11})
    output = await ReadTool().run(params, await ReadTool().plan(params, turn), make_context(workspace, turn=turn))
    assert "(Showing lines 11-20 of 100: there is no room for more. Use offset=21 to continue.)" in output.output


async def test_an_empty_file_has_no_lines(workspace: Workspace) -> None:
    (workspace.directory / "empty").touch()
    assert "(End of file - total 0 lines)" in (await read(workspace, "empty")).output
    with pytest.raises(ToolError, match=r"Offset 2 is out of range for this file \(0 lines\)"):
        await read(workspace, "empty", offset=2)


@pytest.mark.parametrize("name", ["READM.md", "raedme.md", "readme.dm"])
async def test_a_misspelt_name_is_told_the_one_like_it(workspace: Workspace, name: str) -> None:
    for each in ("readme.md", "LICENSE", "setup.py"):
        (workspace.directory / each).touch()
    tools: list[tuple[Tool[Any], dict[str, str]]] = [
        (ReadTool(), {"filePath": name}),
        (EditTool(), {"filePath": name, "oldString": "a", "newString": "b"}),
        (GrepTool(), {"path": name, "pattern": "a"}),
        (GlobTool(), {"path": name, "pattern": "a"}),
    ]
    for tool, arguments in tools:
        with pytest.raises(ToolError) as missing:
            await call(tool, workspace, **arguments)
        assert str(missing.value).endswith(f"Did you mean one of these?\n{workspace.directory}/readme.md")


async def test_an_offset_behind_the_last_entry_is_an_error(workspace: Workspace) -> None:
    with pytest.raises(ToolError, match=r"out of range for this directory \(1 entries\)"):
        await read(workspace, ".", offset=2)


async def test_of_a_large_picture_a_smaller_copy_is_shown_which_the_model_is_told(workspace: Workspace) -> None:
    small, large = BytesIO(), BytesIO()
    Image.new("RGB", (2000, 100)).save(small, "PNG")
    Image.new("RGB", (9000, 450)).save(large, "PNG")
    (workspace.directory / "small.png").write_bytes(small.getvalue())
    (workspace.directory / "large.png").write_bytes(large.getvalue())
    as_it_is, copied = await read(workspace, "small.png"), await read(workspace, "large.png")
    url = f"data:image/png;base64,{b64encode(small.getvalue()).decode()}"
    assert as_it_is.attachments == ({"type": "file", "mime": "image/png", "url": url},)
    assert as_it_is.output == "Image read successfully"
    (attached,) = copied.attachments
    shown = Image.open(BytesIO(b64decode(str(attached["url"]).partition(",")[2])))
    assert (attached["mime"], shown.format, shown.size) == ("image/jpeg", "JPEG", (2000, 100))
    note = "[The picture has 9000×450 pixels; a smaller copy of 2000×100 is attached.]"
    assert copied.output == f"Image read successfully\n{note}"


async def test_a_picture_that_cannot_be_made_smaller_is_refused_with_the_reason(workspace: Workspace) -> None:
    (workspace.directory / "wide.gif").write_bytes(b"GIF89a" + (9000).to_bytes(2, "little") + b"\1\0")
    with pytest.raises(ToolError, match=r"wide.gif cannot be shown: it is too large, and no smaller copy"):
        await read(workspace, "wide.gif")
    (workspace.directory / "unknown.png").write_bytes(b"?" * MAX_PICTURE_CHARS)
    with pytest.raises(ToolError, match=r"no smaller copy can be made \(cannot identify image file\)\.$"):
        await read(workspace, "unknown.png")


@pytest.mark.parametrize(("name", "most"), [("a.pdf", MAX_PDF_BYTES), ("photo.png", MAX_PICTURE_FILE_BYTES)])
async def test_a_file_that_no_model_could_be_shown_is_not_read_into_memory(
    workspace: Workspace, name: str, most: int
) -> None:
    with (workspace.directory / name).open("wb") as file:
        file.truncate(most + 1)
    with pytest.raises(ToolError, match="too much to be shown"):
        await read(workspace, name)


async def test_a_file_that_may_not_be_read_is_an_error(unprivileged: Workspace) -> None:
    (unprivileged.directory / "a.txt").write_text("secret")
    (unprivileged.directory / "a.txt").chmod(0)
    with pytest.raises(ToolError, match="Permission denied"):
        await read(unprivileged, "a.txt")


async def test_whether_a_file_exists_is_told_only_when_reading_is_permitted(workspace: Workspace) -> None:
    plan = await ReadTool().plan(ReadParams(filePath="../gone/secret.txt"), TurnContext(workspace))
    assert [request.permission for request in plan.requests] == ["external_directory", "read"]


async def test_the_record_changes_when_a_link_leads_elsewhere(workspace: Workspace) -> None:
    link, params = workspace.directory / "link", ReadParams(filePath="link")
    link.symlink_to("a.txt")
    (workspace.directory / "a.txt").touch()
    (workspace.directory / "b.txt").touch()
    before = await ReadTool().plan(params, TurnContext(workspace))
    link.unlink()
    link.symlink_to("b.txt")
    assert (await ReadTool().plan(params, TurnContext(workspace))).effect.digest != before.effect.digest
