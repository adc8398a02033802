"""Titles: OpenCode's rules as data, and what counts of an answer."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import cases
from tests.cases import Case
from workflows.domain.errors import UsageError
from workflows.domain.titles import (
    default_title,
    first_line,
    fork_title,
    given_title,
    is_default_title,
    title_of_answer,
    validate_title,
    wants_title,
)

OPERATIONS = {"fork_title": fork_title, "is_default_title": is_default_title}


@pytest.mark.parametrize("case", cases.load("titles"))
def test_titles_are_opencodes(case: Case) -> None:
    assert OPERATIONS[str(case.op)](case.input["title"]) == case.expected


def test_a_default_title_tells_when_in_utc() -> None:
    at = datetime(2026, 1, 2, 5, 4, 5, 6789, timezone(timedelta(hours=2)))
    assert default_title(at) == "New session - 2026-01-02T03:04:05.006Z"
    assert is_default_title(default_title(datetime.now(UTC)))


@pytest.mark.parametrize(
    ("answer", "title"),
    [
        ("Fixing the slug test", "Fixing the slug test"),
        ("<think>The user\nwants\n</think>\n\n  Slug fix \nmore", "Slug fix"),
        ("<think>one</think><think>two</think>Three", "Three"),
        ("<think>never finished", None),
        ("```text\nFix the slug\n```", "Fix the slug"),
        ('```json\n{"title": "Fix \\"x\\""}\n```', 'Fix "x"'),
        ("**Fix**", "Fix"),
        ('"Fix"', "Fix"),
        ("“Fix”", "Fix"),
        ("Title: Fix", "Fix"),
        ('**Title:** "Fix"', "Fix"),
        ("# `Fix`", "Fix"),
        ('"a" and "b"', '"a" and "b"'),
        ("**a** and **b**", "**a** and **b**"),
        ("Subtitle: fix", "Subtitle: fix"),
        ('{"title": 3}', '{"title": 3}'),
        ("```\n```", None),
        ('""', '""'),
        ("What is it?\n</think>\n\nSlug fix", "Slug fix"),
        ("one</think><think>two</think>Three", "Three"),
        ("What is it?</think>", None),
        (" \n\t\n", None),
        ("Fix\x1b[2K it", "Fix [2K it"),
        ("x" * 100, "x" * 100),
        ("x" * 101, "x" * 97 + "..."),
    ],
)
def test_the_first_line_of_an_answer_without_its_thoughts_is_a_title(answer: str, title: str | None) -> None:
    assert title_of_answer(answer) == title


def test_a_persons_title_is_one_line_of_some_length() -> None:
    assert validate_title("  the slug\nfix ") == "the slug fix"
    assert (given_title("the slug fix"), given_title(None)) == ("the slug fix", None)
    assert given_title("New session - 2026-01-02T03:04:05.006Z") is None
    for wrong in ("", " \n ", "x" * 201):
        with pytest.raises(UsageError, match="The title"):
            validate_title(wrong)


@pytest.mark.parametrize(
    ("subagent", "titled", "prompts", "wanted"),
    [
        (False, False, 1, True),
        (True, False, 1, False),
        (False, True, 1, False),
        (False, False, 2, False),
    ],
)
def test_a_model_names_a_persons_session_at_its_first_prompt(
    subagent: bool, titled: bool, prompts: int, wanted: bool
) -> None:
    assert wants_title(subagent=subagent, titled=titled, prompts=prompts) is wanted


def test_a_prompts_first_line_stands_for_a_title() -> None:
    assert first_line("\n\n  Fix\x1b[2K it  \nand more") == "Fix [2K it  "
    assert len(first_line("x " * 1000)) == 100 and first_line("x " * 1000).endswith("...")


@given(before=st.integers(0, 120))
def test_a_first_line_holds_a_long_word_whole_or_not_at_all(before: int) -> None:
    short = first_line(f"{'x ' * (before // 2)}{' ' * (before % 2)}my-secret-key-4711 and more" + " and more" * 20)
    assert "my-secret-key-4711" in short or "my-secre" not in short
