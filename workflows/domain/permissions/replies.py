"""Replies: what may settle an ask: a person's decision, or grants that cover it (opencode.md 2.4)."""

from collections.abc import Iterable
from enum import StrEnum

from workflows.domain.permissions.grants import Grant, GrantScope
from workflows.domain.permissions.requests import PermissionAsk
from workflows.domain.permissions.rules import Action
from workflows.domain.permissions.rulesets import Rulesets
from workflows.domain.questions import Answers, AskBody, answers_problem
from workflows.domain.value import Value


class AskState(StrEnum):
    OPEN = "open"
    ANSWERED = "answered"
    CLOSED = "closed"


class Reply(StrEnum):
    ONCE = "once"
    ALWAYS = "always"
    REJECT = "reject"
    ANSWER = "answer"  # to questions


class AskDecision(Value):
    """A person's decision, with the digest of the effect that they saw. `answers`: to questions; a reject dismisses
    these."""

    reply: Reply
    digest: str | None = None
    feedback: str | None = None
    scope: GrantScope = GrantScope.SESSION
    answers: Answers | None = None


def decision_problem(body: AskBody, decision: AskDecision) -> str | None:
    """Why the ask cannot be settled by this; None: it can."""
    if decision.reply is not Reply.ANSWER and decision.answers is not None:
        return f"Answers come with {Reply.ANSWER!s}, not with {decision.reply!s}."
    if decision.reply is Reply.REJECT:
        return None
    if isinstance(body, PermissionAsk):
        return "It asks for a permission: answer once, always or reject." if decision.reply is Reply.ANSWER else None
    if decision.reply is not Reply.ANSWER:
        return f"It asks a question: {decision.reply!s} does not answer it."
    return answers_problem(body.questions, decision.answers or ())


def covering_grant(asked: PermissionAsk, rules: Rulesets, live: Iterable[Grant]) -> Grant | None:
    """The first that helps, when grants and the rules of its turn allow all requests of an ask."""
    by_id = {grant.id: grant for grant in live}
    found = [rules.finding(each, by_id.values()) for each in asked.requests]
    if any(each.action is not Action.ALLOW for each in found):
        return None
    return next((by_id[each.grant] for each in found if each.grant is not None), None)
