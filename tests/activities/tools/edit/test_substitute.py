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
    assert substitute(before + old + after, old, new) == (before + new + after, "")


@given(words, st.text(max_size=3), st.integers(2, 4))
def test_every_copy_is_replaced_literally(between: str, new: str, copies: int) -> None:
    text = between.join(["<old>"] * copies)
    replaced, note = substitute(text, "<old>", new, replace_all=True)
    assert replaced == between.join([new] * copies)
    assert note.startswith(f"Copies replaced: {copies}, on line")


@pytest.mark.parametrize(
    ("content", "old"),
    [("a\na\n", "a"), ("aaa", "aa"), ("  x\n    x\n", "x "), ("f( a)\nf(  a)\n", "f(\ta)"), ("1 2\n1  2\n", "1\t2")],
)
def test_several_places_are_an_error(content: str, old: str) -> None:
    with pytest.raises(ToolError, match="multiple matches|Could not find"):
        substitute(content, old, "new")


def test_a_line_and_the_passage_inside_it_are_one_place() -> None:
    assert substitute("    value = 1;\n", "\tvalue = 1;\t", "value = 2;")[0] == "    value = 2;\n"


HEAD = "def f():\n    if x:\n        "
BLOCK = f"{HEAD}cells = [a]\n        return cells\n"


@pytest.mark.parametrize(
    ("content", "old", "new", "replaced"),
    [
        (BLOCK, "cells  = [a]", "rows = [a]", BLOCK.replace("cells =", "rows =")),
        (BLOCK, "cells = [a]  \n        return cells", "a\n        b", f"{HEAD}a\n        b\n"),
        (BLOCK, "cells = [a]\nreturn cells\n", "if a:\n    b\n\n", f"{HEAD}if a:\n            b\n\n"),
        (BLOCK, " " * 9 + "cells = [a]\n" + " " * 9 + "return cells", " " * 9 + "a", f"{HEAD}a\n"),
        ("\tvalue = 1;\n", "    value = 1;", "    value = 2;", "\tvalue = 2;\n"),
        ("if (a  && b) go();\n", " a && b", " a || b", "if (a || b) go();\n"),
        ("a\r\n  b  c\r\nd\r\n", "b c\r\n", "x\r\n", "a\r\n  x\r\nd\r\n"),
        ("    a:\n  b\n", "  a:\nb", "  c:\nd", "    c:\n  d\n"),
        ("    a:\n        b\n", "\ta:\n\t\tb", "\tpass", "    pass\n"),
    ],
)
def test_what_stands_before_a_forgiven_quote_stays_and_its_lines_keep_the_indentation(
    content: str, old: str, new: str, replaced: str
) -> None:
    assert substitute(content, old, new)[0] == replaced


def block(levels: list[int], word: str, indent: int) -> str:
    """From the level 1 on, so that all of it can be moved left."""
    return "".join(f"{'  ' * (level + indent)}{word}{number} = 1\n" for number, level in enumerate([1, *levels]))


levels = st.lists(st.integers(0, 3), min_size=1, max_size=4)


@given(levels, levels, st.integers(0, 3), st.integers(0, 3), st.booleans())
def test_a_block_that_is_quoted_at_another_indentation_is_replaced_as_if_it_were_quoted_exactly(
    old: list[int], new: list[int], there: int, quoted: int, ends: bool
) -> None:
    cut = None if ends else -1
    content = f"if x:\n{block(old, 'old', there)}end\n"
    quote, replacement = block(old, "old", quoted)[:cut], block(new, "new", quoted)[:cut]
    assert substitute(content, quote, replacement)[0] == f"if x:\n{block(new, 'new', there)}end\n"


@pytest.mark.parametrize(
    ("content", "old", "new"),
    [
        (BLOCK, "cells = [a]\n    return cells", "rows = [a]\n    return rows"),
        (BLOCK, "cells  = [a]", "rows = [a]\nrows.sort()"),
        ("  value = 1; // one\n", "value  = 1;\n", "value = 2;\n"),
        ("  value\nother\n", "\nvalue\n", "\nnew\n"),
        ("  one\n  two\n", "one\\n  two", "three"),
        ("\tif a:\n\t\tb\n", "    if a:\n        b", "    if a:\n        c"),
        ("\tvalue = 1;\n", "    value = 1;", "    value = 2;\n        more"),
        ("{\n  one\n  two\n}\n", "{\n one\n two\n}", "{\n three\n}"),
    ],
)
def test_a_forgiven_quote_that_leaves_the_indentation_open_is_refused_with_the_passage(
    content: str, old: str, new: str
) -> None:
    with pytest.raises(ToolError, match="not clear how newString has to be indented there") as refused:
        substitute(content, old, new)
    numbered = dict(line.split(": ", 1) for line in str(refused.value).partition("stands:\n")[2].split("\n"))
    assert numbered and all(content.split("\n")[int(number) - 1] == line for number, line in numbered.items())


def test_the_model_reads_how_a_forgiven_passage_differed() -> None:
    _, note = substitute(BLOCK, "cells = [a]\nreturn cells", "rows = [a]\nreturn rows")
    assert note.endswith("in white space. Now it reads:\n3:         rows = [a]\n4:         return rows")
    assert substitute("{\n  one\n  two\n}\n", "{\n  one\n  tow\n}", "{\n}")[1].endswith("2:   one\n3:   two\n4: }")
    _, note = substitute('say("a")\n', 'say(\\"a\\")', "say(1)")
    assert note == 'The passage differed from oldString. It was:\n1: say("a")'


def test_replacing_all_copies_says_how_many_where_and_what_is_left() -> None:
    content = "f( a )\nf(  a )\nf( a )\n"
    replaced, note = substitute(content, "f( a )", "g(\na )", replace_all=True)
    assert replaced == "g(\na )\nf(  a )\ng(\na )\n"
    forgiven = substitute(content, "f( a\t)", "g", replace_all=True)
    assert forgiven == ("g\ng\ng\n", "Copies replaced: 3, on lines 1, 2, 3.")
    assert note == "Copies replaced: 2, on lines 1, 4. Not replaced, for small differences from oldString: line 3."


def test_an_ambiguous_quote_is_told_its_lines() -> None:
    with pytest.raises(ToolError, match=r"oldString: 3, on lines 1, 3, 4\. Provide more"):
        substitute("a\nb\na\na\n", "a", "c")


@pytest.mark.parametrize("old", ["pos = s.find('e')", "  def f(s):\n    pos = s.find('e') if s else 0\n"])
def test_a_quote_that_is_not_found_is_told_the_nearest_passage(old: str) -> None:
    with pytest.raises(ToolError, match=r'line endings\. The nearest passage:\n[^$]*2:     pos = s\.find\("e"\) if s'):
        substitute('def f(s):\n    pos = s.find("e") if s else 0\n', old, "x")


def test_a_quote_with_line_numbers_is_told_to_leave_them_out() -> None:
    with pytest.raises(ToolError, match=r"Quote it without the line numbers of read\."):
        substitute("def f():\n    return 1\n", "1: def f():\n2:     return 1", "x")


def test_long_passages_are_shown_in_part() -> None:
    content = "".join(f"  line {number} {'x' * 400}\n" for number in range(30))
    with pytest.raises(ToolError) as refused:
        substitute(content, content.replace("0 ", "O "), "x")
    shown = str(refused.value).split("\n")[1:]
    assert len(shown) == 21 and max(map(len, shown)) < 310 and shown[-1] == "…"


@pytest.mark.parametrize(
    ("content", "old", "replaced"),
    [
        ("{\n  one\n  two\n}\n", "{\n  one\n  tow\n}", "x\n"),
        ("{\nabcd\n}\n{\nabxx\n}\n", "{\nabce\n}", "x\n{\nabxx\n}\n"),
        ("{\nabcd\n}\n{\nabce\n}\n", "{\nabcx\n}", None),
        ("{\n  one\n}\n", "{\n  something else\n}", None),
        ("{\n a\n b\n c\n d\n}\n", "{\n a\n b\n c\n}", None),
        ("{\n\n}\n{\n\n}\n", "{\n.\n}", None),
        ("{\n}\n", "{\n.\n}", None),
    ],
)
def test_a_block_with_the_quotes_ends_is_meant_where_its_middle_is_most_like_the_quotes(
    content: str, old: str, replaced: str | None
) -> None:
    if replaced is not None:
        assert substitute(content, old, "x")[0] == replaced
    else:
        with pytest.raises(ToolError, match="Could not find|multiple matches"):
            substitute(content, old, "x")


def test_a_quote_of_blanks_does_not_match_empty_lines() -> None:
    with pytest.raises(ToolError, match="Could not find"):
        substitute("a\n\nb\n", "   ", "x")
