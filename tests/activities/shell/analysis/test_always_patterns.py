"""What an "always" saves of a command, and what it does not cover."""

import re

import pytest

from tests import cases
from tests.activities.shell.checker import ALLOW, ASK, CommandChecker


@pytest.mark.parametrize("case", cases.load("always_patterns"))
def test_what_was_saved_does_not_cover_something_else(checker: CommandChecker, case: cases.Case) -> None:
    before = re.fullmatch(r"(?:(?:session A|subagent): always )?(?!mcp:|webfetch )(.*)", case.input["approved"], re.S)
    after = re.fullmatch(r"(session B: |parent: )?(.*)", case.input["must_still_ask"], re.S)
    assert before is not None
    assert after is not None
    grants = () if after[1] else checker.saved(before[1])
    assert checker.verdict(after[2], checker.defaults(bash="ask"), grants) is ASK
    if case.input["may_save"] == "nothing":
        assert not any(grant.patterns for grant in checker.saved(before[1]))


def test_a_saved_command_passes_the_next_time(checker: CommandChecker) -> None:
    rules = checker.defaults(bash="ask")
    assert checker.verdict("npm run test -- -v", rules, checker.saved("npm run test")) is ALLOW


def test_always_saves_the_required_words_and_covers_no_other_form(checker: CommandChecker) -> None:
    rules = checker.defaults(bash="ask")
    assert checker.verdict("grep --strange x a.txt", rules, checker.saved("grep x a.txt")) is ASK
    assert checker.verdict("grep --strange x a.txt", rules, checker.saved("grep --strange x a.txt")) is ALLOW
    assert checker.verdict("git push other", rules, checker.saved("git push origin")) is ALLOW
