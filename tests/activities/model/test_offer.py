"""What tools a model is offered."""

from activities.model.offer import offered
from activities.tools.table import TOOLS
from workflows.domain.permissions.rules import Action, Rule


def denied(permission: str, pattern: str = "*") -> Rule:
    return Rule(permission=permission, pattern=pattern, action=Action.DENY)


def test_all_tools_are_offered_in_the_order_of_their_names_but_invalid() -> None:
    names = [offer.name for offer in offered(TOOLS, ())]
    assert names == sorted(TOOLS.keys() - {"invalid"})


def test_an_offer_says_what_the_tool_is_for_and_takes() -> None:
    offer = next(each for each in offered(TOOLS, ()) if each.name == "read")
    assert offer.description and offer.parameters["required"] == ["filePath"]


def test_a_tool_that_a_rule_switches_off_is_not_offered() -> None:
    names = {offer.name for offer in offered(TOOLS, (denied("edit"), denied("bash", "rm *")))}
    assert "bash" in names and not {"edit", "write"} & names
