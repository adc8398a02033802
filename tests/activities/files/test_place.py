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


def test_a_search_judges_each_file_once_however_many_lines_match(place: Place) -> None:
    judged: list[str] = []

    class Noting(Rule):
        def decides(self, permission: str, subject: str) -> bool:
            judged.append(subject)
            return super().decides(permission, subject)

    rules = (Noting(permission="read", pattern="*", action=Action.ALLOW),)
    shown = replace(place, rules=rules).searched(place.directory)
    once = len(judged)
    assert all(shown(place.directory / "a.txt") for _ in range(100)) and len(judged) <= 3 * once
