"""Agents as data: what there is, what a configuration changes, and what holds for subagents."""

from workflows.domain.agents import Delegation, agents, bounds
from workflows.domain.config.config import Config, Mode
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
