"""What an "always" saves of a command, and what it does not cover."""

import re

import pytest

from tests import cases
from tests.activities.shell.world import ALLOW, ASK, World


@pytest.mark.parametrize("case", cases.load("always_patterns"))
def test_what_was_saved_does_not_cover_something_else(world: World, case: cases.Case) -> None:
    before = re.fullmatch(r"(?:(?:session A|subagent): always )?(?!mcp:|webfetch )(.*)", case.input["approved"], re.S)
    after = re.fullmatch(r"(session B: |parent: )?(.*)", case.input["must_still_ask"], re.S)
    assert before is not None
    assert after is not None
    grants = () if after[1] else world.saved(before[1])
    assert world.verdict(after[2], world.defaults(bash="ask"), grants) is ASK
    if case.input["may_save"] == "nothing":
        assert not any(grant.patterns for grant in world.saved(before[1]))


def test_a_saved_command_passes_the_next_time(world: World) -> None:
    rules = world.defaults(bash="ask")
    assert world.verdict("npm run test -- -v", rules, world.saved("npm run test")) is ALLOW


def test_always_saves_what_it_has_to_name_and_covers_no_other_form(world: World) -> None:
    rules = world.defaults(bash="ask")
    assert world.verdict("grep --strange x a.txt", rules, world.saved("grep x a.txt")) is ASK
    assert world.verdict("grep --strange x a.txt", rules, world.saved("grep --strange x a.txt")) is ALLOW
    assert world.verdict("git push other", rules, world.saved("git push origin")) is ALLOW
