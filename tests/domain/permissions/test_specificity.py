"""Which words a pattern names itself."""

import pytest

from workflows.domain.permissions.specificity import contains_word, is_exact


@pytest.mark.parametrize(
    ("pattern", "mark"),
    [
        ("git clean *", "clean"),
        ("git clean*", "clean"),
        ("find * -delete", "-delete"),
        ("find * -delete*", "-delete"),
        ("sort --output=*", "--output"),
        ("sort -o *", "-o"),
        ("sed -n w out a.txt", "w out"),
        ("uniq a out", "out"),
    ],
)
def test_a_word_that_stands_in_the_pattern_is_named(pattern: str, mark: str) -> None:
    assert contains_word(pattern, mark)


@pytest.mark.parametrize(
    ("pattern", "mark"),
    [("*", "clean"), ("git *", "clean"), ("git cl*", "clean"), ("find * -d*", "-delete"), ("git cleanup *", "clean")],
)
def test_what_a_wildcard_sweeps_along_is_not(pattern: str, mark: str) -> None:
    assert not contains_word(pattern, mark)


def test_a_pattern_without_wildcards_is_exact() -> None:
    assert [is_exact(pattern) for pattern in ("git status", "git *", "git s?", r"a\b")] == [True, False, False, False]
