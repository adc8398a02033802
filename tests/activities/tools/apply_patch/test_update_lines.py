"""Lines of a patch are found with little forgiveness, one behind the other; what stays keeps its bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.files.text_file import TextFile
from activities.tools.apply_patch.patch import parse_patch
from activities.tools.apply_patch.update_lines import update_text
from workflows.domain.errors import ToolError


def updated(content: str, *lines: str) -> str:
    patch = "\n".join(["*** Begin Patch", "*** Update File: a", *lines, "*** End Patch"])
    (hunk,) = parse_patch(patch)
    return update_text("/a", TextFile.of(content.encode()), hunk.chunks).encode().decode()


def test_line_endings_and_the_byte_order_mark_stay() -> None:
    assert updated("\ufeffone\r\ntwo\r\n", "@@", " one", "-two", "+2", "+3") == "\ufeffone\r\n2\r\n3\r\n"


def test_a_line_that_stays_keeps_what_was_forgiven_in_it() -> None:
    assert updated("\tif x:  \n\u201cone\u201d\ntwo\n", "@@", " if x:", ' "one"', "-two", "+2") == (
        "\tif x:  \n\u201cone\u201d\n2\n"
    )


def test_the_strictest_form_decides_which_place_is_meant() -> None:
    assert updated(" x\nx\n", "@@", "-x", "+y") == " x\ny\n"


def test_chunks_are_searched_one_behind_the_other() -> None:
    assert updated("x\na\nx\na\n", "@@ x", "-a", "+1", "@@", "-x", "-a", "+2") == "x\n1\n2\n"
    with pytest.raises(ToolError, match="Failed to find expected lines in /a:\nx$"):
        updated("x\na\n", "@@", "-a", "+1", "@@", "-x", "+2")


def test_a_context_that_is_not_there_is_named() -> None:
    with pytest.raises(ToolError, match="^apply_patch verification failed: Error: Failed to find context 'f' in /a$"):
        updated("x\n", "@@ f", "-x", "+y")


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (("@@ a", "+new"), "a\nnew\nb\nc\n"),
        (("@@ a", "+new", "*** End of File"), "a\nb\nc\nnew\n"),
        (("@@", "+new", "@@", "-a"), "b\nc\nnew\n"),
        (("@@ a", "+1", "@@", "+2", "@@ b", "+3"), "a\n1\nb\n3\nc\n2\n"),
        (("@@", "+1", "@@", "+2"), "a\nb\nc\n1\n2\n"),
        (("@@ a", "+1", "@@", "-b", "+2"), "a\n1\n2\nc\n"),
    ],
)
def test_new_lines_alone_stand_behind_their_context_else_at_the_end(lines: tuple[str, ...], expected: str) -> None:
    assert updated("a\nb\nc\n", *lines) == expected


def test_an_empty_last_line_need_not_be_there() -> None:
    assert updated("a\nb\n", "@@", "-b", "+B", " ") == "a\nB\n"


def test_lines_of_the_files_end_are_looked_for_elsewhere_last() -> None:
    assert updated("m\nx\nm\n", "@@", "-m", "+M", "*** End of File") == "m\nx\nM\n"
    assert updated("m\nx\n", "@@", "-m", "+M", "*** End of File") == "M\nx\n"


def test_a_reminder_tag_is_found_and_written_as_it_was_shown() -> None:
    assert updated("<system-reminder>\na\n", "@@", " &lt;system-reminder>", "-a", "+&lt;system-reminder>") == (
        "<system-reminder>\n<system-reminder>\n"
    )


@given(st.lists(st.sampled_from(["", "a", "b", " c"]), min_size=1, max_size=8), st.data())
def test_a_chunk_with_all_lines_makes_of_the_file_what_it_says(lines: list[str], data: st.DataObject) -> None:
    signs = data.draw(st.lists(st.sampled_from(" -+"), min_size=len(lines), max_size=len(lines)))
    pairs = list(zip(signs, lines, strict=True))
    before = "".join(f"{line}\n" for sign, line in pairs if sign != "+")
    after = "".join(f"{line}\n" for sign, line in pairs if sign != "-")
    assert updated(before, "@@", *(sign + line for sign, line in pairs)) == after


def test_many_lines_that_are_alike_take_no_time() -> None:
    with pytest.raises(ToolError, match="Failed to find expected lines"):
        updated("\n" * 200_000, "@@", *["-"] * 50_000, "-x", *["-"] * 50_000)
