from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflows.domain.permissions.overlap import covers, overlaps
from workflows.domain.permissions.wildcard import matches

PATTERNS = st.text("ab *?/", max_size=6)
TEXTS = st.text("ab /", max_size=6)


@given(PATTERNS, PATTERNS, TEXTS)
def test_patterns_with_a_common_text_meet(one: str, other: str, text: str) -> None:
    assert overlaps(one, other) or not (matches(text, one) and matches(text, other))


@given(PATTERNS, PATTERNS, TEXTS)
def test_what_a_pattern_covers_it_matches(wide: str, narrow: str, text: str) -> None:
    assert matches(text, wide) or not (covers(wide, narrow) and matches(text, narrow))


def test_all_short_patterns_meet_and_cover_as_their_texts_say() -> None:
    patterns = ["".join(each) for length in (1, 2, 3) for each in product("ab*", repeat=length)]
    texts = ["".join(each) for length in range(6) for each in product("ab", repeat=length)]
    matched = {pattern: {text for text in texts if matches(text, pattern)} for pattern in patterns}
    for one, other in product(patterns, repeat=2):
        assert overlaps(one, other) or not matched[one] & matched[other]
        assert matched[other] <= matched[one] or not covers(one, other)


@given(PATTERNS)
def test_every_pattern_covers_itself_and_is_covered_by_a_star(pattern: str) -> None:
    assert covers(pattern, pattern)
    assert covers("*", pattern)


@pytest.mark.parametrize(("one", "other"), [("*.env", "*.ts"), ("git *", "npm *"), ("a?", "a"), ("ls *", "lsof")])
def test_patterns_without_a_common_text_do_not_meet(one: str, other: str) -> None:
    assert not overlaps(one, other)


@pytest.mark.parametrize(("wide", "narrow"), [("git push *", "git *"), ("a?", "a*"), ("*.env", "*")])
def test_a_narrower_pattern_does_not_cover_a_wider_one(wide: str, narrow: str) -> None:
    assert not covers(wide, narrow)
