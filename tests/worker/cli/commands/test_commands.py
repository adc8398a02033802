"""`holdfast commands` as a process; no stack is started for it."""

import json

from tests.worker.cli.conftest import CommandRunner


async def test_commands_are_listed_with_their_places_and_shown(bare: CommandRunner) -> None:
    folder = bare.directory / ".opencode/commands"
    (folder / "git").mkdir(parents=True)
    (folder / "git/commit.md").write_text(
        "---\ndescription: Commits\nagent: plan\nsubtask: true\n---\nCommit $1.\nNow."
    )
    (folder / "bad.md").write_text("---\nsubtask: perhaps\n---\nX")
    (folder / "odd.md").write_text("---\nallowed-tools: Bash\n---\nX")

    ended = await bare.run("commands")
    shown = await bare.run("commands", "show", "git/commit")
    unknown = await bare.run("commands", "show", "nope")
    as_json = await bare.run("commands", "--json")
    listed = json.loads(as_json.out)

    assert [row.split("  ")[0] for row in ended.out.splitlines()] == ["/git/commit $1", "/init $ARGUMENTS", "/odd"] + [
        "/review $ARGUMENTS"
    ]
    assert as_json.err == ended.err
    assert "plan as a subtask" in ended.out and ".opencode/commands/git/commit.md" in ended.out
    assert "bad.md: the field 'subtask' is wrong" in ended.err and "no field 'allowed-tools'" in ended.err
    assert "agent: plan" in shown.out and "\n  Commit $1.\n  Now.\n" in shown.out
    assert unknown.code == 2 and 'Command not found: "nope". Available commands: git/commit, init, odd' in unknown.err
    assert [(each["name"], each["source"], each["hints"]) for each in listed][:2] == [
        ("git/commit", "command", ["$1"]),
        ("init", "built-in", ["$ARGUMENTS"]),
    ]
