"""Repeated calls, over steps."""

import pytest

from workflows.domain.permissions.loop_guard import find_repeats


@pytest.mark.parametrize(
    ("earlier", "new", "held"),
    [
        ("", "aa", [False, False]),
        ("", "aaa", [True, True, True]),
        ("aa", "a", [True]),
        ("a", "aa", [True, True]),
        ("aab", "a", [False]),
        ("aa", "aba", [True, False, False]),
        ("aaa", "ab", [True, False]),
        ("ba", "aaba", [True, True, False, False]),
        ("aaa", "", []),
    ],
)
def test_the_third_equal_call_in_a_row_is_held(earlier: str, new: str, held: list[bool]) -> None:
    assert find_repeats(list(earlier), list(new)) == held
