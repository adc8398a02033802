"""The agents of docs/agents.md and docs/profiles.md are read, and may do what the pages say."""

import re
from pathlib import Path

import pytest

from activities.project.config_loader import Role
from tests.activities.project.project_home import ProjectHome

DOCS = Path(__file__).parents[3] / "docs"
EXAMPLE = re.compile(r"^```(?:markdown|json)\n(.*?)^```", re.MULTILINE | re.DOTALL)
(MARKDOWN,) = EXAMPLE.findall((DOCS / "agents.md").read_text("utf-8"))
PROFILES = EXAMPLE.findall((DOCS / "profiles.md").read_text("utf-8"))


def example(agent: str) -> str:
    (found,) = (text for text in PROFILES if f'"{agent}": {{' in text)
    return str(found)


async def action(project_home: ProjectHome, agent: str, permission: str, subject: str) -> str:
    turn_config = await project_home.load(role=Role(agent, ancestors=1))

    assert (turn_config.refused_agents, turn_config.untrusted_fields, turn_config.warnings) == ((), (), ())
    return turn_config.rules.action(permission, subject)


@pytest.mark.parametrize(
    ("permission", "subject", "expected"),
    [("edit", "a.py", "deny"), ("bash", "git diff HEAD", "allow"), ("bash", "git push", "deny")],
)
async def test_the_example_in_markdown_may_do_what_it_says(
    project_home: ProjectHome, permission: str, subject: str, expected: str
) -> None:
    project_home.write(".opencode/agent/reviewer.md", MARKDOWN)

    assert await action(project_home, "reviewer", permission, subject) == expected


@pytest.mark.parametrize(
    ("agent", "permission", "subject", "expected"),
    [
        ("operator", "bash", "kubectl get pods", "allow"),
        ("operator", "bash", "kubectl rollout restart deployment/api", "ask"),
        ("operator", "bash", "kubectl delete pod x", "deny"),
        ("operator", "edit", "a.py", "deny"),
        ("operator", "read", ".env", "ask"),
        ("operator", "task", "general", "deny"),
        ("reviewer", "edit", "a.py", "deny"),
        ("reviewer", "bash", "git show HEAD", "allow"),
        ("reviewer", "bash", "git push", "deny"),
        ("database-migrator", "edit", "migrations/1.sql", "allow"),
        ("database-migrator", "edit", "a.py", "deny"),
        ("database-migrator", "bash", "alembic upgrade head", "ask"),
        ("database-migrator", "bash", "psql", "deny"),
        ("auditor", "read", "a.py", "allow"),
        ("auditor", "read", ".env", "ask"),
        ("auditor", "bash", "ls", "deny"),
        ("generator", "edit", "a.py", "ask"),
        ("generator", "bash", "ls", "deny"),
        ("refactorer", "edit", "src/x/a.py", "allow"),
        ("refactorer", "edit", "docs/a.md", "deny"),
        ("refactorer", "bash", "git push origin", "deny"),
        ("refactorer", "bash", "make", "ask"),
        ("tester", "bash", "make test", "allow"),
        ("tester", "bash", "make install", "deny"),
        ("documenter", "edit", "docs/a.md", "allow"),
        ("documenter", "edit", "a.py", "deny"),
    ],
)
async def test_a_profile_may_do_what_it_says(
    project_home: ProjectHome, agent: str, permission: str, subject: str, expected: str
) -> None:
    project_home.write("opencode.json", example(agent), under=project_home.config)

    assert await action(project_home, agent, permission, subject) == expected


@pytest.mark.parametrize(
    ("permission", "subject", "expected"),
    [
        ("edit", "src/a.py", "allow"),
        ("edit", "deploy/prod.yaml", "ask"),
        ("external_directory", "/srv/x", "ask"),
        ("bash", "git diff HEAD", "allow"),
        ("bash", "curl https://example.org", "ask"),
        ("bash", "git push origin main", "ask"),
        ("bash", "rm -rf build", "deny"),
        ("bash", "docker rm -f db", "deny"),
    ],
)
async def test_production_asks_before_what_leaves_the_project(
    project_home: ProjectHome, permission: str, subject: str, expected: str
) -> None:
    (production,) = (text for text in PROFILES if "docker rm" in text)
    project_home.write("opencode.json", production, under=project_home.config)

    assert await action(project_home, "build", permission, subject) == expected
