"""`holdfast agents` as a process; no stack is started for it."""

import json

from tests.worker.cli.conftest import CommandRunner

REVIEWER = "---\ndescription: Reviews: carefully\nmode: subagent\nsteps: 7\npermission:\n  edit: deny\n---\nYou review."
OWN = {
    "permission": {"bash": "ask"},
    "small_model": "own/small",
    "agent": {"build": {"temperature": 0.3}, "secret": {"hidden": True}},
}


def configured(person: CommandRunner) -> CommandRunner:
    """The person with agents of their own, and a project's."""
    home, project = person.directory.parent, person.directory
    (home / ".config" / "opencode").mkdir(parents=True)
    (home / ".config" / "opencode" / "opencode.json").write_text(json.dumps(OWN))
    (agents := project / ".opencode" / "agent").mkdir(parents=True)
    (agents / "reviewer.md").write_text(REVIEWER)
    (agents / "bad.md").write_text("---\nmode: weird\n---\n")
    return person


async def test_a_pipe_gets_a_row_for_each_visible_agent_and_its_origin(bare: CommandRunner) -> None:
    ended = await configured(bare).run("agents")
    as_json = await bare.run("agents", "list", "--all", "--json")
    every = json.loads(as_json.out)

    assert [row.split()[0] for row in ended.out.splitlines()] == ["build", "explore", "general", "plan", "reviewer"]
    assert "built-in, ~/.config/opencode/opencode.json" in ended.out and ".opencode/agent/reviewer.md" in ended.out
    assert as_json.err == ended.err and as_json.code == ended.code == 0
    assert "Refused: " in ended.err and "agent/bad.md: the field 'mode' is wrong" in ended.err
    assert [each["name"] for each in every if each["hidden"]] == ["compaction", "secret", "summary", "title"]
    assert [(each["name"], each["native"], each["temperature"]) for each in every if each["default"]] == [
        ("build", True, 0.3)
    ]


async def test_an_agent_is_shown_with_the_file_of_each_rule(bare: CommandRunner) -> None:
    shown = await configured(bare).run("agents", "show", "reviewer")
    rules = json.loads((await bare.run("agents", "show", "reviewer", "--json")).out)["rules"]

    assert "at most 7 answers in a turn" in shown.out and "prompt of the agent reviewer" in shown.out
    found = {(each["permission"], each["action"], each["file"].rpartition("/")[2]) for each in rules}
    assert {("bash", "ask", "opencode.json"), ("edit", "deny", "reviewer.md"), ("*", "allow", "built-in")} <= found


async def test_the_default_agent_and_the_model_of_hidden_ones_are_shown(bare: CommandRunner) -> None:
    """A project's choice that nobody has accepted is not the default."""
    own = OWN | {"agent": {"bold": {"permission": {"bash": "allow"}}}}
    (configured(bare).directory.parent / ".config/opencode/opencode.json").write_text(json.dumps(own))
    (bare.directory / "opencode.json").write_text('{"default_agent": "bold"}')

    build, bold, summary = [
        json.loads((await bare.run("agents", "show", name, "--json")).out) for name in ("build", "bold", "summary")
    ]

    assert "hidden, primary: asked by Holdfast itself\n" in (await bare.run("agents", "show", "compaction")).out
    assert [each["default"] for each in (build, bold, summary)] == [True, False, False]
    assert summary["model"] == "own/small"


async def test_an_agent_that_cannot_be_shown_is_answered_with_why(bare: CommandRunner) -> None:
    bad, unknown = [await configured(bare).run("agents", "show", "bad"), await bare.run("agents", "show", "nope")]

    assert (bad.code, unknown.code) == (2, 2)
    assert "'bad' cannot be used (" in bad.err and "bad.md: the field" in bad.err
    assert "Agent not found: 'nope'. Available agents: build, explore" in unknown.err


async def test_the_list_is_there_without_a_default_and_fits_a_narrow_terminal(bare: CommandRunner) -> None:
    person = configured(bare)
    (bare.directory.parent / ".config/opencode/opencode.json").write_text('{"default_agent": "explore"}')

    async with person.with_(COLUMNS="40").terminal("agents") as terminal:
        await terminal.until(r"agent +mode +model")
        rows = await terminal.until(r"(?s)build.*Warning:\s.*/opencode\.json:\s+the\s+configured\s+default\s+agent")
        assert await terminal.ended() == 0

    lines = [each for each in rows[0].splitlines() if "/opencode.json:" not in each]  # a path is one word
    assert max(map(len, lines)) <= 40 and "(default)" not in rows[0]
