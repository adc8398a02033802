"""The diff is complete: applying it gives the new text."""

import re

from hypothesis import given
from hypothesis import strategies as st

from activities.files.diff import count_changes, unified_diff

lines = st.lists(st.sampled_from(["a\n", "b\n", "\n", "c\r\n", "- x\n", "+ y\n"]), max_size=30)
texts = st.builds(lambda body, end: "".join(body) + end, lines, st.sampled_from(["", "end"]))


def applied(patch: str, before: str) -> str:
    """The patched text; the patch must be true of the old one."""
    old, new, done = re.findall(r"[^\n]*\n|[^\n]+", before), [""], 0
    body = patch.partition("\n+++ p\n")[2].replace("\n\\ No newline at end of file\n", "\0")
    for line in re.findall(r"[^\n\0]*[\n\0]", body):
        text = line[1:].removesuffix("\0")
        if header := re.match(r"@@ -(\d+),(\d+) ", line):
            start = int(header[1]) - (int(header[2]) > 0)
            new, done = new + old[done:start], start
            continue
        if line[0] != "+":
            assert old[done] == text
            done += 1
        if line[0] != "-":
            new.append(text)
    return "".join([*new, *old[done:]])


@given(texts, texts)
def test_applying_the_difference_gives_the_new_text(before: str, after: str) -> None:
    assert applied(unified_diff("p", before, after), before) == after


@given(texts)
def test_equal_texts_differ_in_nothing(text: str) -> None:
    assert "@@" not in unified_diff("p", text, text)


def test_a_difference_is_shown_with_three_lines_around_it() -> None:
    before = "".join(f"{n}\n" for n in range(1, 21))
    patch = unified_diff("src/a.py", before, before.replace("10\n", "ten\n"))
    assert patch == (
        f"Index: src/a.py\n{'=' * 67}\n--- src/a.py\n+++ src/a.py\n"
        "@@ -7,7 +7,7 @@\n 7\n 8\n 9\n-10\n+ten\n 11\n 12\n 13\n"
    )


def test_a_missing_last_newline_is_shown() -> None:
    assert unified_diff("p", "a", "a\n").endswith("@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n")


def test_added_and_removed_lines_are_counted_without_the_header() -> None:
    assert count_changes(unified_diff("p", "a\nb\n", "a\n++ c\nd\n")) == (2, 1)


def test_texts_too_large_to_compare_are_replaced_as_a_whole() -> None:
    before, after = ("\n".join(str(n) for n in range(start, start + 5000)) + "\n" for start in (0, 5000))
    assert unified_diff("p", before, after).count("@@ -1,5000 +1,5000 @@") == 1
