"""A configuration's agents, and the one that works."""

import pytest

from workflows.domain.agents.agent import AgentMode, RefusedAgent
from workflows.domain.config.agent_selection import available_agents, check_readable, default_agent, select_agent
from workflows.domain.config.config import Config
from workflows.domain.errors import UnknownAgent


def test_the_built_in_agents_are_sorted_by_name() -> None:
    assert [(name, agent.mode) for name, agent in available_agents(Config()).items()] == [
        ("build", AgentMode.PRIMARY),
        ("explore", AgentMode.SUBAGENT),
        ("general", AgentMode.SUBAGENT),
        ("plan", AgentMode.PRIMARY),
    ]


def test_settings_change_only_the_fields_that_they_set() -> None:
    config = Config.model_validate({"agent": {"explore": {"model": "a/b", "steps": 3}}})

    explore = available_agents(config)["explore"]

    assert (explore.model, explore.steps, explore.mode, explore.prompt_file) == (
        "a/b",
        3,
        AgentMode.SUBAGENT,
        "explore",
    )


def test_a_configured_agent_serves_people_and_agents_by_default() -> None:
    config = Config.model_validate({"agent": {"mine": {}, "helper": {"mode": "subagent"}}})

    found = available_agents(config)

    assert (found["mine"].mode, found["helper"].mode) == (AgentMode.ALL, AgentMode.SUBAGENT)


def test_a_disabled_agent_is_left_out() -> None:
    assert "explore" not in available_agents(Config.model_validate({"agent": {"explore": {"disable": True}}}))


def test_a_configuration_cannot_define_an_agent_of_a_reserved_name() -> None:
    config = Config.model_validate(
        {"agent": {name: {"mode": "all"} for name in ("compaction", "title", "summary", "mine")}}
    )

    assert [*available_agents(config)] == ["build", "explore", "general", "mine", "plan"]


def test_an_agent_whose_file_is_refused_does_not_exist_and_says_why() -> None:
    refused = (RefusedAgent(names=("build", "x"), why="/a/x.md: wrong."),)

    known = available_agents(Config.model_validate({"agent": {"x": {}, "y": {}}}), None, refused)

    assert [*known] == ["explore", "general", "plan", "y"]
    check_readable("y", refused, known)
    with pytest.raises(UnknownAgent, match=r"'build' cannot be used \(/a/x\.md: wrong\)\. Available"):
        check_readable("build", refused, known)


def default(**config: object) -> str:
    settings = Config.model_validate(config)
    return default_agent(settings, available_agents(settings)).name


def test_the_default_agent_is_the_configured_one_else_build_else_the_first_visible_one() -> None:
    own = {"zoe": {}, "coder": {}, "secret": {"hidden": True}, "alf": {"mode": "subagent"}}

    assert default(default_agent="zoe", agent=own) == "zoe"
    assert default(agent=own) == "build"
    assert default(agent={**own, "build": {"disable": True}}) == "coder"
    assert default(agent={**own, "build": {"hidden": True}}) == "coder"


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("nope", "not found"),
        ("explore", "is a subagent: it works for other agents only"),
        ("title", "is hidden"),
        ("secret", "is hidden"),
    ],
)
def test_a_default_agent_that_cannot_work_is_refused_with_the_names_to_choose_from(name: str, problem: str) -> None:
    with pytest.raises(
        UnknownAgent, match=rf'default agent "{name}" {problem}\. Available agents: build, coder, plan\.$'
    ):
        default(default_agent=name, agent={"coder": {}, "secret": {"hidden": True}})


def test_without_a_visible_agent_there_is_no_default() -> None:
    with pytest.raises(UnknownAgent, match=r"no primary visible agent found\. Available agents: none\.$"):
        default(agent={"build": {"disable": True}, "plan": {"disable": True}})


@pytest.mark.parametrize("name", ["nope", "explore", "compaction", "title", "summary"])
def test_people_cannot_select_a_subagent_or_a_reserved_name(name: str) -> None:
    known = available_agents(Config.model_validate({"agent": {"coder": {"hidden": True}}}))

    assert select_agent("coder", known).name == "coder"
    with pytest.raises(UnknownAgent, match=rf"{name!r}.* Available agents: build, plan\.$"):
        select_agent(name, known)
