"""Agents as data: what there is, what a configuration changes, and what holds for subagents."""

import pytest

from workflows.domain.agents import Delegation, agents, bounds, chosen, default_agent
from workflows.domain.config.config import Config, Mode
from workflows.domain.errors import UnknownAgent
from workflows.domain.permissions.rules import Action, Rule, evaluate

EVERYTHING = Rule(permission="*", pattern="*", action=Action.ALLOW)


def test_the_built_in_agents_are_there_in_the_order_of_their_names() -> None:
    assert [(name, agent.mode) for name, agent in agents(Config()).items()] == [
        ("build", Mode.PRIMARY),
        ("explore", Mode.SUBAGENT),
        ("general", Mode.SUBAGENT),
    ]


def test_settings_change_what_they_name_and_leave_the_rest() -> None:
    config = Config.model_validate({"agent": {"explore": {"model": "a/b", "steps": 3}}})

    explore = agents(config)["explore"]

    assert (explore.model, explore.steps, explore.mode, explore.words) == ("a/b", 3, Mode.SUBAGENT, True)


def test_an_agent_of_a_configuration_serves_people_and_agents_unless_it_says_otherwise() -> None:
    config = Config.model_validate({"agent": {"mine": {}, "helper": {"mode": "subagent"}}})

    found = agents(config)

    assert (found["mine"].mode, found["helper"].mode) == (Mode.ALL, Mode.SUBAGENT)


def test_a_disabled_agent_is_not_there() -> None:
    assert "explore" not in agents(Config.model_validate({"agent": {"explore": {"disable": True}}}))


def test_a_model_is_told_of_subagents_that_no_rule_denies() -> None:
    delegation = Delegation(agents=tuple(agents(Config.model_validate({"agent": {"mine": {}}})).values()))
    rules = (EVERYTHING, Rule(permission="task", pattern="gen*", action=Action.DENY))

    assert [agent.name for agent in delegation.offered(rules)] == ["explore", "mine"]


def test_a_subagent_has_no_task_list_and_no_subagents_unless_its_settings_speak_of_them() -> None:
    config = Config.model_validate({"agent": {"lead": {"permission": {"task": "allow"}}}})
    found = agents(config)

    plain = (EVERYTHING, *bounds(found["explore"], (EVERYTHING,)))
    lead = (EVERYTHING, *bounds(found["lead"], (EVERYTHING,)))

    assert [evaluate(name, "x", plain).action for name in ("task", "todowrite")] == [Action.DENY, Action.DENY]
    assert [evaluate(name, "x", lead).action for name in ("task", "todowrite")] == [Action.ALLOW, Action.DENY]


def test_a_subagent_may_do_nothing_that_its_parent_is_denied() -> None:
    parent = (EVERYTHING, Rule(permission="edit", pattern="*", action=Action.DENY))

    rules = (EVERYTHING, *bounds(agents(Config())["general"], parent))

    assert evaluate("edit", "a.py", rules).action is Action.DENY


def test_a_reserved_name_is_no_agent_whatever_a_configuration_says_of_it() -> None:
    config = Config.model_validate({"agent": {name: {"mode": "all"} for name in ("plan", "title", "summary", "mine")}})

    assert [*agents(config)] == ["build", "explore", "general", "mine"]


def default(**config: object) -> str:
    settings = Config.model_validate(config)
    return default_agent(settings, agents(settings)).name


def test_the_default_agent_is_the_configured_one_else_build_else_the_first_that_people_see() -> None:
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
        ("plan", "is not supported yet"),
        ("secret", "is hidden"),
    ],
)
def test_a_default_agent_that_cannot_work_is_refused_with_those_that_can(name: str, problem: str) -> None:
    with pytest.raises(UnknownAgent, match=rf'default agent "{name}" {problem}\. Available agents: build, coder\.$'):
        default(default_agent=name, agent={"coder": {}, "secret": {"hidden": True}})


def test_without_any_agent_that_people_see_there_is_no_default() -> None:
    with pytest.raises(UnknownAgent, match=r"no primary visible agent found\. Available agents: none\.$"):
        default(agent={"build": {"disable": True}})


@pytest.mark.parametrize("name", ["nope", "explore", "plan"])
def test_what_a_person_names_must_be_an_agent_for_people(name: str) -> None:
    known = agents(Config.model_validate({"agent": {"coder": {"hidden": True}}}))

    assert chosen("coder", known).name == "coder"
    with pytest.raises(UnknownAgent, match=rf"{name!r}.* Available agents: build\.$"):
        chosen(name, known)
