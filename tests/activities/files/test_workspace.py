"""A workspace knows what the rules of its turn hide."""

from dataclasses import replace

from activities.files.workspace import Workspace
from workflows.domain.permissions.rules import Action, Rule

ASKED = Rule(permission="read", pattern="*", action=Action.ASK)
DENIED = Rule(permission="read", pattern="*.env", action=Action.DENY)


def test_a_path_is_readable_unless_a_rule_denies_it(workspace: Workspace) -> None:
    ruled = replace(workspace, rules=(ASKED, DENIED))
    assert ruled.may_read(workspace.directory / "a.txt")
    assert not ruled.may_read(workspace.directory / "sub" / ".env")


def test_only_a_deny_hides_something(workspace: Workspace) -> None:
    assert not replace(workspace, rules=(ASKED,)).denies_any_read
    assert replace(workspace, rules=(ASKED, DENIED)).denies_any_read


def test_a_search_judges_each_file_once_however_many_lines_match(workspace: Workspace) -> None:
    judged: list[str] = []

    class Noting(Rule):
        def decides(self, permission: str, subject: str) -> bool:
            judged.append(subject)
            return super().decides(permission, subject)

    rules = (Noting(permission="read", pattern="*", action=Action.ALLOW),)
    shown = replace(workspace, rules=rules).search_filter(workspace.directory)
    once = len(judged)
    assert all(shown(workspace.directory / "a.txt") for _ in range(100)) and len(judged) <= 3 * once
