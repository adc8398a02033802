"""What a patch says, as OpenCode reads it."""

from typing import Any

import pytest

from activities.tools.apply_patch.patch import Hunk, parse_patch
from tests import cases
from workflows.domain.errors import ToolError

BOTH_CHUNKS = [{"old_lines": ["b"], "new_lines": ["c"]}, {"old_lines": ["d"], "new_lines": ["e"]}]
HOLDFAST: dict[str, Any] = {
    "later chunks count": {"hunks": [{"type": "update", "path": "a", "chunks": BOTH_CHUNKS}]},
}


@pytest.mark.parametrize("case", cases.load("patch", op="parse"))
def test_a_patch_is_read_as_opencode_reads_it(case: cases.Case) -> None:
    expected = case.expected if case.holdfast is None else HOLDFAST[case.holdfast]
    if expected == {"error": "missing_markers"}:
        with pytest.raises(ToolError, match="Error: Invalid patch format: missing Begin/End markers"):
            parse_patch(case.input["patch"])
    else:
        assert [described(hunk) for hunk in parse_patch(case.input["patch"])] == expected["hunks"]


def described(hunk: Hunk) -> dict[str, Any]:
    named = {"type": hunk.kind.lower(), "path": hunk.path} | ({"move_path": hunk.move_to} if hunk.move_to else {})
    if hunk.kind != "Update":
        return named | ({"contents": "\n".join(hunk.added)} if hunk.kind == "Add" else {})
    chunks = [
        {
            "old_lines": each.old,
            "new_lines": [line for sign, line in each.lines if sign != "-"],
            **({"change_context": each.context} if each.context else {}),
        }
        for each in hunk.chunks
    ]
    return named | {"chunks": chunks}


def test_the_mark_of_the_files_end_belongs_to_its_chunk() -> None:
    patch = "*** Begin Patch\n*** Update File: a\n@@\n-b\n*** End of File\n-c\n@@ x\n-d\n*** End Patch"
    (hunk,) = parse_patch(patch)
    assert [(each.context, each.old, each.at_end) for each in hunk.chunks] == [
        (None, ["b"], True),
        (None, ["c"], False),
        ("x", ["d"], False),
    ]


def test_line_breaks_of_windows_in_a_patch_are_none_of_its_lines() -> None:
    patch = "*** Begin Patch\r\n*** Add File: a\r\n+one\r\n*** End Patch\r\n"
    assert parse_patch(patch) == [Hunk("Add", "a", added=("one",))]
