"""Replies: the effect of one answer on the session's other open asks (opencode.md 2.4)."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from workflows.domain.ids import AskId
from workflows.domain.permissions.grants import Grant, GrantScope, covering_grant
from workflows.domain.permissions.requests import PermissionRequest
from workflows.domain.permissions.rules import Ruleset
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
    rules: Ruleset


def asks_now_covered(asks: Iterable[OpenAsk], grants: Iterable[Grant]) -> list[tuple[AskId, Grant]]:
    """The open asks that a grant now covers, each with that grant."""
    grants = tuple(grants)
    found = ((ask.id, covering_grant(ask.request, ask.rules, grants)) for ask in asks)
    return [(ask, grant) for ask, grant in found if grant is not None]
