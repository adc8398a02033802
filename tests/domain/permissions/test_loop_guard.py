"""Repeated calls, over steps."""

import pytest

from workflows.domain.permissions.loop_guard import LIMIT, ROUND, count_equal, find_repeats, loop_digest


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


@pytest.mark.parametrize(
    ("results", "asked", "told"),
    [
        ("aaaaaaaaaaa", [5, 10], [3, 4, 8, 9]),
        ("abcdefgh", [], []),  # a poll
        ("ababababab", [], []),
        ("aabbaabbaabb", [], []),
        ("abbbbbbbb", [6], [4, 5, 9]),
        ("aaaabbbbbb", [5, 9], [3, 4, 7, 8]),
    ],
)
def test_equal_calls_ask_where_their_results_were_equal_too(results: str, asked: list[int], told: list[int]) -> None:
    recent: list[tuple[str, str | None]] = []
    digests: list[str] = []
    found_asked, found_told = [], []
    for number, result in enumerate(results, 1):
        digest = loop_digest("call", recent)
        found_asked += [number] if any(find_repeats(digests[-2:], [digest])) else []
        digests.append(digest)
        recent.insert(0, ("call", result))
        found_told += [number] if count_equal(recent) % ROUND >= LIMIT else []
    assert (found_asked, found_told) == (asked, told)


def test_another_call_in_between_begins_the_count_anew() -> None:
    assert loop_digest("call", [("other", "a")] + [("call", None)] * 9) == "call" == loop_digest("call", [])


def test_equal_calls_of_one_answer_ask_before_any_has_run() -> None:
    recent = [("call", "a")]
    assert find_repeats([], [loop_digest("call", recent)] * 3) == [True] * 3
