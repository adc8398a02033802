import json
import os
import time
from pathlib import Path

import pytest

from activities.project.agent_files import MAX_AGENT_FILES, read_agent_files
from activities.project.config_loader import PRIMARY_ROLE, Role
from activities.project.folder_scan import MAX_ENTRIES
from activities.project.markdown_text import MAX_MARKDOWN_BYTES
from tests.activities.project.project_home import ProjectHome
from workflows.domain.agents.agent import Agent, AgentMode
from workflows.domain.errors import ConfigError, UnknownAgent
from workflows.domain.permissions.rules import Action

REVIEWER = "---\ndescription: reviews\nmode: subagent\npermission:\n  edit: deny\n---\nYou review."


async def agents(project_home: ProjectHome, directory: str = "", **environ: str) -> dict[str, Agent]:
    return {each.name: each for each in (await project_home.load(directory, PRIMARY_ROLE, **environ)).delegation.agents}


async def decide(project_home: ProjectHome, agent: str, permission: str) -> Action:
    return (await project_home.load(role=Role(agent, ancestors=1))).rules.action(permission, "x")


async def test_agents_are_read_from_every_directory_of_configuration(project_home: ProjectHome) -> None:
    named = project_home.home / "oc"
    folders = {
        "global": project_home.config,
        "home": project_home.home / ".opencode",
        "named": named,
        "near": project_home.project / "sub/.opencode",
        "root": project_home.project / ".opencode",
    }
    for name, folder in folders.items():
        project_home.write(f"agent/{name}.md", name, under=folder)

    found = await agents(project_home, "sub", OPENCODE_CONFIG_DIR=str(named))
    without = await agents(project_home, "sub", OPENCODE_DISABLE_PROJECT_CONFIG="1")

    assert folders.keys() <= found.keys()
    assert folders.keys() & without.keys() == {"global", "home"}


async def test_an_agents_name_is_its_path_below_the_folder_or_what_it_says(project_home: ProjectHome) -> None:
    for name in ("agent/a.md", "agents/frontend/react.md", "mode/deep.md", "modes/no/deeper.md", "agent/b.txt"):
        project_home.write(f".opencode/{name}", "P")
    project_home.write(".opencode/agents/c.md", "---\nname: other\n---\nP")

    found = await agents(project_home)

    assert found.keys() - {"build", "explore", "general", "plan"} == {"a", "frontend/react", "deep", "other"}
    assert (found["a"].mode, found["deep"].mode) == (AgentMode.ALL, AgentMode.PRIMARY)


async def test_nearer_files_win_and_rules_of_all_of_them_hold(project_home: ProjectHome) -> None:
    project_home.write("agent/x.md", "---\ndescription: own\ntemperature: 0.1\n---\nOwn.", under=project_home.config)
    project_home.write(".opencode/opencode.json", '{"agent": {"x": {"description": "json", "steps": 3}}}')
    project_home.write(".opencode/agent/x.md", "---\ndescription: md\npermission:\n  bash: deny\n---\n")

    found = (await project_home.load(role=Role("x"))).agent

    assert (found.description, found.temperature, found.steps, found.prompt) == ("md", 0.1, 3, "Own.")
    assert await decide(project_home, "x", "bash") is Action.DENY


async def test_the_older_forms_hold_in_markdown(project_home: ProjectHome) -> None:
    project_home.write(".opencode/agent/x.md", "---\nmaxSteps: 4\ntools:\n  write: false\n  bash: false\n---\nP")

    assert (await agents(project_home))["x"].steps == 4
    assert [await decide(project_home, "x", each) for each in ("edit", "bash", "read")] == ["deny", "deny", "allow"]


async def test_a_project_loosens_nothing_by_a_file_of_an_agent(project_home: ProjectHome) -> None:
    project_home.write("opencode.json", '{"permission": {"bash": "ask"}}', under=project_home.config)
    text = "---\npermission:\n  bash: allow\n  edit: deny\nreasoningEffort: high\nmodel: x/{env:SECRET}\n---\nP"
    file = project_home.write(".opencode/agent/x.md", text)

    turn_config = await project_home.load(role=Role("x"))

    assert [turn_config.rules.action(name, "x") for name in ("bash", "edit")] == ["ask", "deny"]
    assert (turn_config.agent.options, turn_config.agent.model) == ({}, None)
    assert {(each.file, each.field) for each in turn_config.held} == {
        (str(file), f"agent.x.{field}") for field in ("options", "model")
    }


@pytest.mark.parametrize(
    ("text", "where", "problem"),
    [
        ("---\nmode: [unclosed\n---\nP", ":3:", "this is not YAML"),
        ("---\nmode: weird\n---\nP", ":", "the field 'mode' is wrong"),
        ("---\ndescription: d\ntools: 3\n---\nP", ":", "the field 'tools' is wrong"),
        ("---\npermission:\nedit: deny\n---\nP", ":", "the field 'edit' is wrong: a rule counts within 'permission'"),
        ("---\npermission:\n---\nP", ":", "the field 'permission' is wrong"),
        ("---\npermissions:\n  edit: deny\n---\nP", ":", "there is no such field: write 'permission'"),
        ("---\npermission:\n  bash:\n    ls: maybe\n---\nP", ":", "the field 'permission.bash.ls' is wrong"),
        ("---\nname: [a]\n---\nP", ":", "the field 'name' is wrong"),
        ('---\nmode: all\nname: "a\\e"\n---\nP', ":", "the field 'name' is wrong: an agent's name has"),
        ('---\nmode: all\ndescription: "\\ud800"\n---\nP', ":3:", "half of a character"),
    ],
)
async def test_a_file_that_cannot_be_used_is_refused_alone(
    project_home: ProjectHome, text: str, where: str, problem: str
) -> None:
    file = project_home.write(".opencode/agent/bad.md", text)
    project_home.write(".opencode/agent/good.md", REVIEWER)

    turn_config = await project_home.load()

    (refused,) = turn_config.refused_agents
    assert refused.why.startswith(f"{file}{where}") and problem in refused.why
    assert {each.name for each in turn_config.delegation.agents} == {"build", "explore", "general", "good", "plan"}


async def test_an_unknown_field_goes_to_no_provider_and_is_named(project_home: ProjectHome) -> None:
    text = "---\nversion: 1.0.0\nwelcome_message: hello\ntop_k: 3\noptions:\n  own: 1\n---\nP"
    file = project_home.write("agent/x.md", text, under=project_home.config)

    turn_config = await project_home.load(role=Role("x"))

    assert turn_config.agent.options == {"own": 1, "top_k": 3}
    (warning,) = turn_config.warnings
    assert warning.startswith(f"{file}: the agent 'x' has no field 'version', 'welcome_message': without effect")


async def test_agents_are_read_as_people_write_them_for_other_programs(project_home: ProjectHome) -> None:
    text = (
        '---\nname: rev\ndescription: Use it after each change. Examples:\n\n<example>\nuser: "done"\n'
        'assistant: "I\'ll review it: now"\n</example>\ntools: Read, Bash, Foo\nmodel: inherit\ncolor: green\n---\nP'
    )
    file = project_home.write(".opencode/agent/rev.md", text)
    project_home.write("opencode.json", '{"permission": {"bash": "ask"}}', under=project_home.config)

    turn_config = await project_home.load(role=Role("rev"))

    agent = turn_config.agent
    assert (agent.description or "").endswith('user: "done" assistant: "I\'ll review it: now" </example>')
    assert (agent.model, agent.color, turn_config.refused_agents) == (None, None, ())
    assert [await decide(project_home, "rev", each) for each in ("read", "bash", "edit")] == ["allow", "ask", "deny"]
    assert turn_config.warnings == (f"{file}: the agent 'rev' lists tools that there are not: 'Foo'.",)


async def test_not_all_files_with_fields_without_effect_are_named(project_home: ProjectHome) -> None:
    for number in range(25):
        project_home.write(f"agent/a{number:02}.md", "---\nversion: 1\n---\nP", under=project_home.config)

    warnings = (await project_home.load()).warnings

    assert (len(warnings), warnings[-1]) == (21, "5 more of this kind about agents are not shown.")


async def test_what_cannot_be_read_as_text_is_refused(project_home: ProjectHome) -> None:
    folder = project_home.write(".opencode/agent/long.md", "x" * (MAX_MARKDOWN_BYTES + 1)).parent
    project_home.write(".opencode/agent/full.md", "x" * MAX_MARKDOWN_BYTES)
    (folder / "bytes.md").write_bytes(b"\xff\xfe")
    (folder / "nul.md").write_bytes(b"P\0")
    os.mkfifo(folder / "pipe.md")
    (folder / "device.md").symlink_to("/dev/zero")
    (folder / "gone.md").symlink_to("/nowhere")
    (folder / "secret.md").symlink_to(project_home.write("notes.md", "s3cret", under=project_home.home))
    (folder / os.fsdecode(b"odd\xff.md")).write_text("P")

    turn_config = await project_home.load()

    names = {name for each in turn_config.refused_agents for name in each.names}
    assert names == {"long", "bytes", "nul", "pipe", "device", "gone", "secret"}
    assert f"{folder}/gone.md: it cannot be read: No such file or directory" in {
        each.why for each in turn_config.refused_agents
    }
    assert "s3cret" not in turn_config.model_dump_json()
    assert {"full", "odd\\xff"} <= {each.name for each in turn_config.delegation.agents}


async def test_no_name_of_a_file_begins_a_line_of_its_own(project_home: ProjectHome) -> None:
    project_home.write(".opencode/agent/a\nRefused: b.md", "---\n")
    project_home.write(".opencode/skills/c\nd/SKILL.md", "---\nname: c\ndescription: d\n---\nBody")

    turn_config = await project_home.load()
    (refused,), (warning,) = turn_config.refused_agents, turn_config.warnings

    assert "a\\nRefused: b.md: the fields have no end" in refused.why and "\n" not in refused.why
    assert "c\\nd/SKILL.md: its path holds a line break" in warning and not turn_config.skills


@pytest.mark.parametrize(
    "head",
    [
        "name: plan # ours\nmode: nonsense",
        "{name: plan, mode: nonsense}",
        '{mode: nonsense, "name": "plan"}',
        "name: plan # ours\nmode: [",
        "{mode: x, name: plan, permission: [",
    ],
)
async def test_a_file_that_cannot_be_used_leaves_no_agent_of_its_name(project_home: ProjectHome, head: str) -> None:
    project_home.write(".opencode/agent/x.md", f"---\n{head}\n---\nLook.\n")

    (layer,) = read_agent_files(project_home.project / ".opencode", trusted=False, workspace=project_home.workspace())

    assert layer.refused is not None and {"x", "plan"} <= set(layer.refused.names)


async def test_a_broken_file_is_judged_in_little_time(project_home: ProjectHome) -> None:
    project_home.write(".opencode/agent/x.md", "---\nname: plan" + " " * 32_000 + "x\n")
    begun = time.thread_time()

    files = [*read_agent_files(project_home.project / ".opencode", trusted=False, workspace=project_home.workspace())]

    assert time.thread_time() - begun < 1
    assert [each.refused.names for each in files if each.refused] == [("x", "plan")]


async def test_a_project_has_not_more_rules_than_can_be_judged(project_home: ProjectHome) -> None:
    """Of one agent's: collections have hundreds of agents."""
    for file in range(6):
        rules = "".join(f"    {file}-{number}/*: deny\n" for number in range(200))
        project_home.write(f".opencode/agent/x{file}.md", f"---\npermission:\n  edit:\n{rules}---\nP")
    await project_home.load()
    general = {f"{number}/*": "deny" for number in range(801)}
    project_home.write("opencode.json", json.dumps({"permission": {"edit": general}}))

    with pytest.raises(ConfigError, match=r"x0\.md: .* more than 1,000 rules"):
        await project_home.load()


@pytest.mark.parametrize("name", ["build.md", "x.md"])
async def test_no_agent_works_without_what_its_broken_file_may_deny(project_home: ProjectHome, name: str) -> None:
    project_home.write(f".opencode/agent/{name}", "---\nname: build\npermission: {edit: deny\n---\n")
    project_home.write("opencode.json", '{"agent": {"coder": {}, "x": {}}}', under=project_home.config)

    for role in (Role(), Role("build")):
        with pytest.raises(
            UnknownAgent, match=rf"'build' cannot be used \(.*{name}:\d+:\d+: .*Available agents: coder, plan"
        ):
            await project_home.load(role=role)
    assert (await project_home.load(role=Role("coder"))).agent.name == "coder"


async def test_more_files_than_are_read_stop_the_run(project_home: ProjectHome) -> None:
    for number in range(MAX_AGENT_FILES):
        project_home.write(f".opencode/agent/{number}.md", "P")
    assert len(await agents(project_home)) == MAX_AGENT_FILES + 4

    project_home.write(".opencode/agents/one-more.md", REVIEWER)
    with pytest.raises(ConfigError, match="at most 500 files of agents"):
        await project_home.load()


async def test_more_entries_than_are_looked_at_stop_the_run(project_home: ProjectHome) -> None:
    folder = project_home.write(".opencode/agent/a.md", "P").parent
    for number in range(MAX_ENTRIES):
        (folder / str(number)).touch()

    with pytest.raises(ConfigError, match="at most 10,000 entries"):
        await project_home.load()


async def test_a_turn_holds_the_prompt_of_its_own_agent(project_home: ProjectHome) -> None:
    project_home.write(".opencode/agent/a.md", "Prompt of a {env:HOME} {file:x}")
    project_home.write(".opencode/agent/b.md", "Prompt of b")

    turn_config = await project_home.load(role=Role("a"))
    text = turn_config.model_dump_json()

    assert turn_config.agent.prompt == "Prompt of a {env:HOME} {file:x}"
    assert turn_config.warnings == () and turn_config.untrusted_fields == ()
    assert text.count("Prompt of") == 1


async def test_a_prompt_of_json_is_read_from_its_file(project_home: ProjectHome) -> None:
    outside = project_home.write("outside.md", "s3cret", under=project_home.home)
    project_home.write("prompts/a.md", "\nFrom a file. {file:x} {env:HOME}\n")
    prompts = {"a": "Begin. {file:./prompts/a.md}", "b": f"{{file:{outside}}}", "c": "Of {env:HOME}"}
    file = project_home.write("opencode.json", json.dumps({"agent": {n: {"prompt": p} for n, p in prompts.items()}}))

    found = {name: await project_home.load(role=Role(name)) for name in prompts}

    assert [each.agent.prompt for each in found.values()] == [
        "Begin. From a file. {file:x} {env:HOME}",
        None,
        "Of {env:HOME}",
    ]
    assert [(held.file, held.field) for held in found["a"].held] == [(str(file), "agent.b.prompt")]
    assert found["a"].warnings == (f"{file}: {{env:HOME}} in 'agent.c.prompt' is not looked up.",)


async def test_a_prompt_whose_file_is_missing_or_too_long_stops_the_run(project_home: ProjectHome) -> None:
    long: Path = project_home.write("long.md", "x" * (64 * 1024 + 1))
    for name, problem in (("nowhere.md", "there is no file"), (long.name, "more than 65,536 characters")):
        project_home.write("opencode.json", json.dumps({"agent": {"a": {"prompt": f"{{file:{name}}}"}}}))
        with pytest.raises(ConfigError, match=problem):
            await project_home.load()
