"""Wildcards of rules."""

from typing import Any

import pytest

from tests import cases
from workflows.domain.permissions.wildcard import longest, longest_structured, matches


@pytest.mark.parametrize("case", cases.load("wildcard"))
def test_wildcards_match_as_opencode_does(case: cases.Case) -> None:
    assert _answer(case.input) == case.expected


def test_a_pattern_is_matched_to_its_end_and_newlines_do_not_end_a_text() -> None:
    assert not matches("ls\n", "ls")
    assert matches("ls -l\n", "ls *")


def _answer(given: dict[str, Any]) -> Any:
    match given:
        case {"op": "match", "value": value, "pattern": pattern}:
            return matches(value, pattern)
        case {"op": "all", "value": value, "rules": rules}:
            return longest(value, rules)
        case {"op": "all_structured", "head": head, "tail": tail, "rules": rules}:
            return longest_structured(head, tail, rules)
    raise ValueError(f"unknown operation {given['op']!r}")
