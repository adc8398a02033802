"""Replies: the effect of one answer on the session's other open asks (opencode.md 2.4)."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from workflows.domain.ids import AskId
from workflows.domain.permissions.grants import Grant, GrantScope
from workflows.domain.permissions.requests import PermissionRequest
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
    if isinstance(body, PermissionRequest):
        return "It asks for a permission: answer once, always or reject." if decision.reply is Reply.ANSWER else None
    if decision.reply is not Reply.ANSWER:
        return f"It asks a question: {decision.reply!s} does not answer it."
    return answers_problem(body.questions, decision.answers or ())


@dataclass(frozen=True)
class OpenAsk:
    """An open ask, with the rules of its turn."""

    id: AskId
    request: PermissionRequest
    rules: Rulesets


def asks_now_covered(asks: Iterable[OpenAsk], grants: Iterable[Grant]) -> list[tuple[AskId, Grant]]:
    """The open asks that a grant now covers, each with that grant."""
    by_id = {grant.id: grant for grant in grants}
    found = ((ask.id, ask.rules.finding(ask.request, by_id.values())) for ask in asks)
    return [(ask, by_id[each.grant]) for ask, each in found if each.action is Action.ALLOW and each.grant is not None]
