"""What tools a model is offered."""

from activities.model.offer import offered
from activities.tools.table import TOOLS
from workflows.domain.agents import Delegation, agents
from workflows.domain.config.config import Config
from workflows.domain.permissions.rules import Action, Rule

EVERYBODY = Delegation(agents=tuple(agents(Config()).values()))


def denied(permission: str, pattern: str = "*") -> Rule:
    return Rule(permission=permission, pattern=pattern, action=Action.DENY)


def test_all_tools_are_offered_in_the_order_of_their_names_but_invalid() -> None:
    names = [offer.name for offer in offered(TOOLS, (), EVERYBODY)]
    assert names == sorted(TOOLS.keys() - {"invalid"})


def test_an_offer_says_what_the_tool_is_for_and_takes() -> None:
    offer = next(each for each in offered(TOOLS, (), EVERYBODY) if each.name == "read")
    assert offer.description and offer.parameters["required"] == ["filePath"]


def test_a_tool_that_a_rule_switches_off_is_not_offered() -> None:
    names = {offer.name for offer in offered(TOOLS, (denied("edit"), denied("bash", "rm *")), EVERYBODY)}
    assert "bash" in names and not {"edit", "write"} & names


def test_a_model_is_told_whom_it_may_hand_work_to() -> None:
    offers = {offer.name: offer for offer in offered(TOOLS, (denied("task", "general"),), EVERYBODY)}
    assert "- explore: " in offers["task"].description and "- general: " not in offers["task"].description


def test_nobody_is_offered_below_the_deepest_session_or_where_nobody_is() -> None:
    deep = EVERYBODY.model_copy(update={"ancestors": 1})
    for delegation in (deep, Delegation()):
        assert "task" not in {offer.name for offer in offered(TOOLS, (), delegation)}
