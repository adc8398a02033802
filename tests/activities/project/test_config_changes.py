import json

from activities.project.config_changes import MAX_CHANGES, describe_changes
from activities.project.config_loader import Role
from tests.activities.project.project_home import ProjectHome
from workflows.domain.config.fields import JsonObject
from workflows.domain.config.turn_config import TurnConfig


async def changes(project_home: ProjectHome, before: JsonObject, after: JsonObject) -> list[str]:
    """Between the user's configuration before and after."""
    found = []
    for tree in (before, after):
        project_home.write("opencode.json", json.dumps(tree), under=project_home.config)
        found.append(await project_home.load())
    stored = TurnConfig.model_validate_json(found[0].model_dump_json())
    return (describe_changes(stored, found[1]) or "").splitlines()


async def test_each_field_is_named_with_both_values(project_home: ProjectHome) -> None:
    before: JsonObject = {"model": "a/b", "permission": {"bash": {"git *": "ask"}}, "compaction": {"auto": True}}
    after: JsonObject = {"model": "c/d", "permission": {"bash": "ask"}, "agent": {"r": {"steps": 5, "maxTokens": 9}}}

    assert await changes(project_home, before, after) == [
        "model: a/b → c/d",
        "permission.bash.git *: ask → not set",
        "permission.bash: not set → ask",
        "agent.r.options.maxTokens: not set → 9",
        "agent.r.steps: not set → 5",
    ]


async def test_what_means_the_same_is_no_change(project_home: ProjectHome) -> None:
    before: JsonObject = {"tools": {"write": False}, "agent": {"build": {"maxSteps": 3}}}
    after: JsonObject = {"permission": {"edit": "deny"}, "agent": {"build": {"steps": 3}}, "subagent_depth": 1}

    assert await changes(project_home, before, after) == []


async def test_the_order_of_rules_counts(project_home: ProjectHome) -> None:
    before: JsonObject = {"permission": {"bash": {"*": "ask", "ls": "allow"}}}
    after: JsonObject = {"permission": {"bash": {"ls": "allow", "*": "ask"}}}

    assert await changes(project_home, before, after) == ["permission: its rules are in another order"]


async def test_secrets_are_hidden_and_long_texts_cut(project_home: ProjectHome) -> None:
    options: JsonObject = {"password": "s3cret", "note": "sk-abcdefghij0123456789klmn"}
    after: JsonObject = {
        "provider": {"x": {"options": {"apiKey": "s3cret-key"}}},
        "agent": {"build": {"prompt": "You are careful. " * 1000, "options": options}},
    }

    key, *hidden, prompt = await changes(project_home, {}, after)

    assert key == "provider.x.options.apiKey: not set → [redacted]"
    assert len(hidden) == 2 and "s3cret" not in str(hidden) and "0123456789" not in str(hidden)
    cut = "agent.build.prompt: not set → You are careful. You are careful. You ar… (17,000 characters, "
    assert prompt.startswith(cut)


async def test_many_changes_are_counted(project_home: ProjectHome) -> None:
    found = await changes(project_home, {}, {"permission": {"bash": {f"c{number}": "deny" for number in range(30)}}})

    assert len(found) == MAX_CHANGES + 1 and found[-1] == "and 10 more"


async def test_instructions_and_skills_are_compared_by_digest_and_another_agent_is_no_change(
    project_home: ProjectHome,
) -> None:
    file = project_home.write("AGENTS.md", "Use tabs.")
    before = await project_home.load()
    file.write_text("Use blanks.")
    project_home.write(".opencode/skill/s/SKILL.md", "---\nname: s\ndescription: d\n---\n")
    after = await project_home.load()

    first, second = (describe_changes(before, after) or "").splitlines()
    assert first.startswith(f"instructions {file}: ") and "tabs" not in first and "blanks" not in first
    assert second.startswith("skills s: not set → ")
    assert describe_changes(after, await project_home.load(role=Role("plan"))) is None
