"""The agents of docs/agents.md are read, and may do what the page says."""

import re
from pathlib import Path

import pytest

from activities.project.config_loader import Role
from tests.activities.project.project_home import ProjectHome
from workflows.domain.permissions.rules import evaluate

PAGE = (Path(__file__).parents[3] / "docs" / "agents.md").read_text("utf-8")
MARKDOWN, *JSON = re.findall(r"^```(?:markdown|json)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    ("agent", "permission", "subject", "action"),
    [
        ("reviewer", "edit", "a.py", "deny"),
        ("reviewer", "bash", "git diff HEAD", "allow"),
        ("reviewer", "bash", "git push", "deny"),
        ("auditor", "read", "a.py", "allow"),
        ("auditor", "bash", "ls", "deny"),
        ("refactorer", "edit", "src/x/a.py", "allow"),
        ("refactorer", "edit", "docs/a.md", "deny"),
        ("refactorer", "bash", "git push origin", "deny"),
        ("refactorer", "bash", "make", "ask"),
        ("tester", "bash", "make test", "allow"),
        ("tester", "bash", "make install", "deny"),
        ("migrator", "edit", "migrations/1.sql", "allow"),
        ("migrator", "edit", "a.py", "deny"),
    ],
)
async def test_an_example_may_do_what_it_says(
    project_home: ProjectHome, agent: str, permission: str, subject: str, action: str
) -> None:
    project_home.write(".opencode/agent/reviewer.md", MARKDOWN)
    for name, text in zip(("opencode.json", "opencode.jsonc"), JSON, strict=True):
        project_home.write(name, text, under=project_home.config)

    turn_config = await project_home.load(role=Role(agent, ancestors=1))

    assert (turn_config.refused_agents, turn_config.untrusted_fields, turn_config.warnings) == ((), (), ())
    assert evaluate(permission, subject, turn_config.rules).action == action
