"""The agents that a turn may delegate to, and their rules."""

from workflows.domain.agents.delegation import Delegation, subagent_rules
from workflows.domain.config.agent_selection import available_agents
from workflows.domain.config.config import Config
from workflows.domain.permissions.rules import Action, Rule, evaluate, is_switched_off
from workflows.domain.permissions.rulesets import Rulesets

EVERYTHING = Rule(permission="*", pattern="*", action=Action.ALLOW)


def test_a_model_is_offered_the_subagents_that_no_rule_denies() -> None:
    delegation = Delegation(agents=tuple(available_agents(Config.model_validate({"agent": {"mine": {}}})).values()))
    rules = (EVERYTHING, Rule(permission="task", pattern="gen*", action=Action.DENY))

    assert [agent.name for agent in delegation.offered_agents(Rulesets.of(rules))] == ["explore", "mine"]


def test_a_subagent_has_no_task_list_and_no_subagents_unless_its_settings_name_them() -> None:
    config = Config.model_validate({"agent": {"lead": {"permission": {"task": "allow"}}}})
    found = available_agents(config)

    plain = (EVERYTHING, *subagent_rules(found["explore"], Rulesets.of((EVERYTHING,))))
    lead = (EVERYTHING, *subagent_rules(found["lead"], Rulesets.of((EVERYTHING,))))

    assert [evaluate(name, "x", plain).action for name in ("task", "todowrite")] == [Action.DENY, Action.DENY]
    assert [evaluate(name, "x", lead).action for name in ("task", "todowrite")] == [Action.ALLOW, Action.DENY]


def test_a_subagent_may_do_nothing_that_its_parent_is_denied() -> None:
    parent = (EVERYTHING, Rule(permission="edit", pattern="*", action=Action.DENY))

    rules = (EVERYTHING, *subagent_rules(available_agents(Config())["general"], Rulesets.of(parent)))

    assert evaluate("edit", "a.py", rules).action is Action.DENY


def test_no_subagent_has_a_tool_that_is_for_primary_agents_only() -> None:
    agent, parent = available_agents(Config())["general"], Rulesets.of((EVERYTHING,))
    rules = (EVERYTHING, *subagent_rules(agent, parent, ("bash", "apply_patch")))

    assert [evaluate(name, "x", rules).action for name in ("bash", "edit", "read")] == ["deny", "deny", "allow"]
    assert is_switched_off("bash", rules) and is_switched_off("edit", rules)
