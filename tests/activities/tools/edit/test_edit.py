"""edit changes one passage of one file, as data of OpenCode's behaviour and by hand."""

from typing import Any

import pytest

from activities.files.workspace import Workspace
from activities.tools.edit.edit import EditTool
from activities.tools.read import ReadTool
from tests import cases
from tests.activities.tools.tool_calls import call
from workflows.domain.errors import ToolError
from workflows.domain.file_changes import FileChanged
from workflows.domain.messages import Outcome

ERRORS = {
    "file_not_found": "not found",
    "identical": "identical",
    "is_directory": "is a directory",
    "not_found": "Could not find oldString",
    "multiple_matches": "Found multiple matches",
    "old_string_empty_on_existing_file": "oldString cannot be empty",
    "roughly": "fits this passage only roughly",
}
HOLDFAST: dict[str, Any] = {
    "the new text is indented as the place is": {"contents": ("def f():\n    x = 3\n    y = 4\n", "        PASS\n")},
    "the line break belongs to the passage, and the new text is indented as the place is": {"contents": ("  X\nc\n",)},
    "several places are an error, and nothing is changed": {"error": "multiple_matches"},
    "a quote that fits only roughly is refused with the passage": {"error": "roughly"},
    "the replacement is literal": {"content": "[$&] [$&]"},
}


@pytest.mark.parametrize("case", cases.load("edit_replace"))
async def test_an_edit_does_what_opencode_does(case: cases.Case, workspace: Workspace) -> None:
    prepare(case.input["file"], workspace)
    strings = {key: case.input[key] for key in ("oldString", "newString", "replaceAll") if key in case.input}
    expected = case.expected if case.holdfast is None else HOLDFAST[case.holdfast]
    if "error" in expected:
        with pytest.raises(ToolError, match=ERRORS[expected["error"]]):
            await call(EditTool(), workspace, filePath="file.txt", **strings)
    else:
        await call(EditTool(), workspace, filePath="file.txt", **strings)
        allowed = expected["contents"] if "contents" in expected else (expected["content"],)
        assert (workspace.directory / "file.txt").read_bytes().decode() in allowed


def prepare(file: dict[str, Any], workspace: Workspace) -> None:
    if "directory" in file:
        (workspace.directory / "file.txt").mkdir()
    elif "missing" not in file:
        (workspace.directory / "file.txt").write_bytes(file["content"].encode())


async def test_other_encodings_survive_an_edit(workspace: Workspace) -> None:
    (workspace.directory / "latin.txt").write_bytes(b"caf\xe9 old\n")
    await call(EditTool(), workspace, filePath="latin.txt", oldString="old", newString="new")
    assert (workspace.directory / "latin.txt").read_bytes() == b"caf\xe9 new\n"


async def test_a_quoted_reminder_tag_is_found_and_written_as_it_stands_in_the_file(workspace: Workspace) -> None:
    file = workspace.directory / "prompt.md"
    file.write_text("one\n<system-reminder>\n\tkeep\n</system-reminder>\n")
    output = await call(ReadTool(), workspace, filePath="prompt.md")
    shown = Outcome(output=output.output).model_text
    assert "2: &lt;system-reminder>" in shown and "<system-reminder>" in output.output
    quote = "\n".join(line.partition(": ")[2] for line in shown.splitlines() if line[:1].isdigit()).strip()

    for old, new in ((quote, quote.replace("keep", "keep all")), ("one", "one &lt;system-reminder>")):
        await call(EditTool(), workspace, filePath="prompt.md", oldString=old, newString=new)

    assert file.read_text() == "one <system-reminder>\n<system-reminder>\n\tkeep all\n</system-reminder>\n"


async def test_a_mark_that_the_file_has_itself_stays(workspace: Workspace) -> None:
    file = workspace.directory / "page.html"
    file.write_text("<p>&lt;system-reminder></p>\n<system-reminder>x\n")
    for old, new in (("<p>&lt;system-reminder>", "<b>&lt;system-reminder>"), ("&lt;system-reminder>x", "none")):
        await call(EditTool(), workspace, filePath="page.html", oldString=old, newString=new)
    assert file.read_text() == "<b>&lt;system-reminder></p>\nnone\n"


async def test_a_byte_order_mark_survives_an_edit(workspace: Workspace) -> None:
    (workspace.directory / "bom.txt").write_bytes(b"\xef\xbb\xbfold\r\nend\r\n")
    await call(EditTool(), workspace, filePath="bom.txt", oldString="old\nend", newString="new\nend")
    assert (workspace.directory / "bom.txt").read_bytes() == b"\xef\xbb\xbfnew\r\nend\r\n"


async def test_the_answer_carries_the_difference(workspace: Workspace) -> None:
    (workspace.directory / "a.txt").write_text("one\ntwo\n")
    output = await call(EditTool(), workspace, filePath="a.txt", oldString="two", newString="2\n3")
    filediff: Any = output.metadata["filediff"]
    assert (filediff["additions"], filediff["deletions"]) == (2, 1)
    assert output.metadata["diff"] == filediff["patch"]
    assert filediff["file"] == str(workspace.directory / "a.txt")
    assert output.changes == (FileChanged(file=filediff["file"], additions=2, deletions=1),)


@pytest.mark.parametrize(
    ("content", "old", "new", "ends"),
    [
        ("one\r\ntwo\r\n", "one\r\ntwo", "one\ntwo", "CRLF"),
        ("one\ntwo\n", "one\ntwo", "one\r\ntwo", "LF"),
        ("a  b\n", "a b", "a  b", "LF"),
        ("<system-reminder>\n", "<system-reminder>", "&lt;system-reminder>", "LF"),
    ],
)
async def test_an_edit_that_leaves_the_file_as_it_was_says_so(
    workspace: Workspace, content: str, old: str, new: str, ends: str
) -> None:
    (workspace.directory / "a.txt").write_bytes(content.encode())
    with pytest.raises(ToolError, match=rf"No changes to apply: .* keeps those of the file \({ends}\)"):
        await call(EditTool(), workspace, filePath="a.txt", oldString=old, newString=new)
    assert (workspace.directory / "a.txt").read_bytes() == content.encode()
