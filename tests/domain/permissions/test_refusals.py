"""The sentences that a model reads instead of a result."""

from workflows.domain.permissions import refusals
from workflows.domain.permissions.rules import Action, Rule


def test_a_denied_call_names_all_rules_about_its_permission() -> None:
    rules = (
        Rule(permission="*", pattern="*", action=Action.ALLOW),
        Rule(permission="read", pattern="*", action=Action.ASK),
        Rule(permission="bash", pattern="rm *", action=Action.DENY),
    )
    assert refusals.denial_text("bash", rules) == (
        "The user has specified a rule which prevents you from using this specific tool call. "
        "Here are some of the relevant rules "
        '[{"permission":"*","pattern":"*","action":"allow"},{"permission":"bash","pattern":"rm *","action":"deny"}]'
    )


def test_feedback_becomes_part_of_the_sentence() -> None:
    assert refusals.rejection_text(refusals.REJECTED, "use uv") == (
        "The user rejected permission to use this specific tool call with the following feedback: use uv"
    )
