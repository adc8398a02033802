from activities.project.config_loader import PRIMARY_ROLE, Role
from tests.activities.project.project_home import ProjectHome
from workflows.domain.agents.agent import Agent

AGENT = "---\nname: {0}\ndescription: {1}\ntools: Read\n---\nP"


async def agents(project_home: ProjectHome, **environ: str) -> dict[str, Agent]:
    return {each.name: each for each in (await project_home.load("sub", PRIMARY_ROLE, **environ)).delegation.agents}


async def test_agents_of_claude_code_are_read_those_of_the_project_over_ones_own(project_home: ProjectHome) -> None:
    project_home.write(".claude/agents/mine.md", AGENT.format("mine", "own"), under=project_home.home)
    project_home.write(".claude/agents/both.md", AGENT.format("both", "own"), under=project_home.home)
    project_home.write(".claude/agents/deep/both.md", AGENT.format("both", "project"))
    project_home.write(".claude/agents/README.md", "How to write agents.")

    found = await agents(project_home)
    without_project = await agents(project_home, OPENCODE_DISABLE_PROJECT_CONFIG="1")
    without = await agents(project_home, OPENCODE_DISABLE_CLAUDE_CODE="1")
    working = await project_home.load(role=Role("both"))

    built_in = {"build", "explore", "general", "plan"}
    assert (found.keys() - built_in, without.keys() - built_in) == ({"mine", "both"}, set())
    assert (found["both"].description, without_project["both"].description) == ("project", "own")
    assert (working.agent.prompt, working.warnings, working.refused_agents) == ("P", (), ())


async def test_an_agent_of_opencodes_places_wins_over_one_of_claude_codes_and_its_mistakes(
    project_home: ProjectHome,
) -> None:
    project_home.write(".opencode/agent/a.md", "---\ndescription: ours\n---\nOurs")
    theirs = project_home.write(".claude/agents/a.md", AGENT.format("a", "theirs"))
    built_in = project_home.write(".claude/agents/plan.md", "---\nmode: weird\n---\nP")
    broken = project_home.write(".claude/agents/broken.md", "---\nmode: weird\n---\nP")

    turn_config = await project_home.load(role=Role("a"))

    assert (turn_config.agent.description, turn_config.agent.prompt) == ("ours", "Ours")
    assert set(turn_config.warnings) == {
        f"{theirs}: it is not read: there is another agent 'a', which is not Claude Code's.",
        f"{built_in}: it is not read: there is another agent 'plan', which is not Claude Code's.",
    }
    assert [each.names for each in turn_config.refused_agents] == [("broken",)]
    assert turn_config.refused_agents[0].why.startswith(str(broken))


async def test_no_agent_of_a_project_takes_away_what_ones_own_of_the_name_forbids(project_home: ProjectHome) -> None:
    project_home.write(".claude/agents/a.md", AGENT.format("a", "own"), under=project_home.home)
    project_home.write(".opencode/agent/a.md", "---\ndescription: theirs\n---\nTheirs")

    turn_config = await project_home.load(role=Role("a"))

    assert (turn_config.agent.description, turn_config.agent.prompt) == ("theirs", "Theirs")
    assert [turn_config.rules.action(each, "x") for each in ("read", "bash", "edit")] == [
        "allow",
        "deny",
        "deny",
    ]


async def test_too_many_agents_of_claude_code_stop_no_run(project_home: ProjectHome) -> None:
    for number in range(501):
        project_home.write(f".claude/agents/a{number:03}.md", AGENT.format(f"a{number:03}", "d"))

    turn_config = await project_home.load()

    assert len(turn_config.delegation.agents) == 504
    (warning,) = turn_config.warnings
    assert warning.startswith(f"{project_home.project}/.claude: no more agents of Claude Code's are read here: ")
