"""The built-in rules."""

from pathlib import Path

import pytest

from workflows.domain.permissions.defaults import build
from workflows.domain.permissions.rules import Action, Rule, evaluate

DATA, TEMPORARY = Path("/data"), Path("/tmp")


@pytest.mark.parametrize(
    ("permission", "pattern", "action"),
    [
        ("bash", "rm -rf x", "allow"),
        ("edit", "src/a.py", "allow"),
        ("read", "src/a.py", "allow"),
        ("read", "deploy/.env.production", "ask"),
        ("read", ".env.example", "allow"),
        ("external_directory", "/srv/*", "ask"),
        ("external_directory", "/data/tool-output/*", "allow"),
        ("external_directory", "/tmp/opencode/*", "allow"),
        ("external_directory", "/skills/a/*", "allow"),
        ("doom_loop", "bash", "ask"),
        ("question", "*", "allow"),
        ("plan_exit", "*", "deny"),
    ],
)
def test_what_build_may_do_by_default(permission: str, pattern: str, action: str) -> None:
    rules = build((), data=DATA, temporary=TEMPORARY, directories=[Path("/skills/a")])
    assert evaluate(permission, pattern, rules).action == action


def test_complete_outputs_stay_readable_unless_exactly_they_are_denied() -> None:
    spool = "/data/tool-output/*"
    for pattern, action in (("*", Action.ALLOW), (spool, Action.DENY)):
        own = [Rule(permission="external_directory", pattern=pattern, action=Action.DENY)]
        assert evaluate("external_directory", spool, build(own, data=DATA, temporary=TEMPORARY)).action is action
