"""The built-in rules."""

from pathlib import Path

import pytest

from workflows.domain.permissions.defaults import agent
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
    rules = agent("build", (), data=DATA, temporary=TEMPORARY, directories=[Path("/skills/a")])
    assert evaluate(permission, pattern, rules).action == action


def test_complete_outputs_stay_readable_unless_exactly_they_are_denied() -> None:
    spool = "/data/tool-output/*"
    for pattern, action in (("*", Action.ALLOW), (spool, Action.DENY)):
        own = [Rule(permission="external_directory", pattern=pattern, action=Action.DENY)]
        assert (
            evaluate("external_directory", spool, agent("build", own, data=DATA, temporary=TEMPORARY)).action is action
        )


@pytest.mark.parametrize(
    ("name", "permission", "pattern", "action"),
    [
        ("explore", "read", "src/a.py", "allow"),
        ("explore", "read", "deploy/.env", "ask"),
        ("explore", "read", ".env.example", "allow"),
        ("explore", "bash", "ls", "allow"),
        ("explore", "edit", "src/a.py", "deny"),
        ("explore", "task", "general", "deny"),
        ("explore", "external_directory", "/srv/*", "ask"),
        ("explore", "external_directory", "/skills/a/*", "allow"),
        ("general", "edit", "src/a.py", "allow"),
        ("general", "todowrite", "*", "deny"),
        ("general", "question", "*", "deny"),
        ("somebody", "question", "*", "deny"),
        ("somebody", "edit", "src/a.py", "allow"),
    ],
)
def test_what_other_agents_may_do_by_default(name: str, permission: str, pattern: str, action: str) -> None:
    rules = agent(name, (), data=DATA, temporary=TEMPORARY, directories=[Path("/skills/a")])
    assert evaluate(permission, pattern, rules).action == action
