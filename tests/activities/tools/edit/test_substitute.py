"""One place is replaced, or none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.tools.edit.substitute import substitute
from workflows.domain.errors import ToolError

words = st.text(alphabet="ab \n", min_size=1, max_size=6)


@given(words, words, words, st.text(max_size=3))
def test_a_passage_that_stands_once_is_replaced_and_nothing_else(before: str, old: str, after: str, new: str) -> None:
    old = f"<{old}>"
    assert substitute(before + old + after, old, new) == before + new + after


@given(words, st.text(max_size=3), st.integers(2, 4))
def test_every_copy_is_replaced_literally(between: str, new: str, copies: int) -> None:
    text = between.join(["<old>"] * copies)
    assert substitute(text, "<old>", new, replace_all=True) == between.join([new] * copies)


@pytest.mark.parametrize(
    ("content", "old"),
    [("a\na\n", "a"), ("aaa", "aa"), ("  x\n    x\n", "x "), ("f( a)\nf(  a)\n", "f( a )"), ("1 2\n1  2\n", "1\t2")],
)
def test_several_places_are_an_error(content: str, old: str) -> None:
    with pytest.raises(ToolError, match="multiple matches|Could not find"):
        substitute(content, old, "new")


def test_a_line_and_the_passage_inside_it_are_one_place() -> None:
    assert substitute("    value = 1;\n", "\tvalue = 1;\t", "value = 2;") == "value = 2;\n"


def test_a_match_much_larger_than_the_quote_is_refused() -> None:
    with pytest.raises(ToolError, match="much larger"):
        substitute("a1\nb2\nc3\nd4\n", "a1\\nb2\\nc3\\nd4", "x")
    with pytest.raises(ToolError, match="much larger"):
        substitute(f"start\n{' ' * 700}x\nend", "start\nx\nend", "y")


def test_a_quote_of_blanks_does_not_match_empty_lines() -> None:
    with pytest.raises(ToolError, match="Could not find"):
        substitute("a\n\nb\n", "   ", "x")
