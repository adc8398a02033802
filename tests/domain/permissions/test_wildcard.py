"""Wildcards of rules."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import cases
from workflows.domain.permissions.wildcard import matches


@pytest.mark.parametrize("case", cases.load("wildcard", op="match"))
def test_wildcards_match_as_opencode_does(case: cases.Case) -> None:
    assert matches(case.input["value"], case.input["pattern"]) == case.expected


def test_a_pattern_is_matched_to_its_end_and_newlines_do_not_end_a_text() -> None:
    assert not matches("ls\n", "ls")
    assert matches("ls -l\n", "ls *")


@given(pattern=st.text(alphabet="ab*? ", max_size=8), value=st.text(alphabet="ab \n", max_size=12))
def test_stars_stand_for_any_text(pattern: str, value: str) -> None:
    own, optional = (pattern[:-2], "(?: .*)?") if pattern.endswith(" *") else (pattern, "")
    plain = "".join({"*": ".*", "?": "."}.get(letter, letter) for letter in own) + optional
    assert matches(value, pattern) is (re.fullmatch(plain, value, re.DOTALL) is not None)


def test_many_stars_over_a_long_text_take_no_power_of_its_length() -> None:
    assert not matches("ab" * 20_000, "*a*b*a*b*a*b*c")
