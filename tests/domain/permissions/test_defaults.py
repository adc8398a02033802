"""The built-in rules."""

from pathlib import Path

import pytest

from workflows.domain.agents.built_in import BUILD, agent_named
from workflows.domain.permissions.defaults import agent_rules
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
        ("doom_loop", "bash", "ask"),
        ("question", "*", "allow"),
        ("plan_exit", "*", "deny"),
    ],
)
def test_what_build_may_do_by_default(permission: str, pattern: str, action: str) -> None:
    rules = agent_rules(BUILD.rules, (), data=DATA, temporary=TEMPORARY)
    assert evaluate(permission, pattern, rules).action == action


def test_complete_outputs_stay_readable_unless_exactly_they_are_denied() -> None:
    spool = "/data/tool-output/*"
    for pattern, action in (("*", Action.ALLOW), (spool, Action.DENY)):
        own = [Rule(permission="external_directory", pattern=pattern, action=Action.DENY)]
        rules = agent_rules(BUILD.rules, own, data=DATA, temporary=TEMPORARY)
        assert evaluate("external_directory", spool, rules).action is action


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
        ("explore", "external_directory", "/data/tool-output/*", "allow"),
        ("general", "edit", "src/a.py", "allow"),
        ("general", "todowrite", "*", "deny"),
        ("general", "question", "*", "deny"),
        ("mine", "question", "*", "deny"),
        ("mine", "edit", "src/a.py", "allow"),
    ],
)
def test_what_other_agents_may_do_by_default(name: str, permission: str, pattern: str, action: str) -> None:
    rules = agent_rules(agent_named(name).rules, (), data=DATA, temporary=TEMPORARY)
    assert evaluate(permission, pattern, rules).action == action
