"""`holdfast skills` as a process; no stack is started for it."""

import json

from tests.worker.cli.conftest import CommandRunner

RULES = {"permission": {"skill": {"deploy": "ask", "internal-*": "deny"}}, "skills": {"paths": ["/etc"]}}


def with_skills(person: CommandRunner) -> CommandRunner:
    """The person with a skill of their own, and those of a project."""
    home, project = person.directory.parent, person.directory
    for folder, name, rest in (
        (home / ".claude/skills", "pdf", "description: Reads PDF files, and fills their forms in\n"),
        (project / ".opencode/skills", "deploy", "description: How we deploy\n"),
        (project / ".agents/skills", "internal-x", ""),
        (project / ".agents/skills", "bad*", ""),
    ):
        (folder / name).mkdir(parents=True)
        (folder / name / "SKILL.md").write_text(f"---\nname: {name}\n{rest}---\nText")
    (project / "opencode.json").write_text(json.dumps(RULES))
    return person


async def test_a_pipe_gets_each_skill_with_what_the_rules_say(bare: CommandRunner) -> None:
    empty = await bare.run("skills")
    ended = await with_skills(bare).run("skills")
    found = json.loads((await bare.run("skills", "--agent", "explore", "--json")).out)

    assert (empty.code, empty.out) == (0, "") and "There are no skills here" in empty.err
    assert [row.split()[:3] for row in ended.out.splitlines()] == [
        ["deploy", "ask", ".opencode/skills/deploy/SKILL.md"],
        ["internal-x", "deny", ".agents/skills/internal-x/SKILL.md"],
        ["pdf", "allow", "~/.claude/skills/pdf/SKILL.md"],
    ]
    assert "bad*/SKILL.md: the field 'name' is wrong" in ended.err
    assert "(`holdfast trust`): skills.paths /etc of the project's files." in ended.err
    assert [(each["name"], each["action"]) for each in found][0] == ("deploy", "deny")


async def test_the_list_fits_a_narrow_terminal(bare: CommandRunner) -> None:
    async with with_skills(bare).with_(COLUMNS="40").terminal("skills") as terminal:
        rows = await terminal.until(r"(?s)deploy +ask.*pdf .*?\)")
        assert await terminal.ended() == 0

    assert max(map(len, rows[0].splitlines())) <= 40 and "models are not told" in " ".join(rows[0].split())
