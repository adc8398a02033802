"""A place knows what the rules of its turn hide."""

from dataclasses import replace

from activities.files.place import Place
from workflows.domain.permissions.rules import Action, Rule

ASKED = Rule(permission="read", pattern="*", action=Action.ASK)
DENIED = Rule(permission="read", pattern="*.env", action=Action.DENY)


def test_a_path_is_readable_unless_a_rule_denies_it(place: Place) -> None:
    ruled = replace(place, rules=(ASKED, DENIED))
    assert ruled.readable(place.directory / "a.txt")
    assert not ruled.readable(place.directory / "sub" / ".env")


def test_only_a_deny_hides_something(place: Place) -> None:
    assert not replace(place, rules=(ASKED,)).hides
    assert replace(place, rules=(ASKED, DENIED)).hides
