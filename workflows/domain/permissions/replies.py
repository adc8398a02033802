"""Replies: the effect of one answer on the session's other open asks (opencode.md 2.4)."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from workflows.domain.ids import AskId
from workflows.domain.permissions.grants import Grant, GrantScope, covering_grant
from workflows.domain.permissions.requests import PermissionRequest
from workflows.domain.permissions.rules import Ruleset
from workflows.domain.value import Value


class AskState(StrEnum):
    OPEN = "open"
    ANSWERED = "answered"
    CLOSED = "closed"


class Reply(StrEnum):
    ONCE = "once"
    ALWAYS = "always"
    REJECT = "reject"


class AskDecision(Value):
    """With the digest of the effect that the person saw."""

    reply: Reply
    digest: str | None = None
    feedback: str | None = None
    scope: GrantScope = GrantScope.SESSION


@dataclass(frozen=True)
class OpenAsk:
    """With the rules of its turn."""

    id: AskId
    request: PermissionRequest
    rules: Ruleset


def asks_now_covered(asks: Iterable[OpenAsk], grants: Iterable[Grant]) -> list[tuple[AskId, Grant]]:
    """Each with its grant."""
    grants = tuple(grants)
    found = ((ask.id, covering_grant(ask.request, ask.rules, grants)) for ask in asks)
    return [(ask, grant) for ask, grant in found if grant is not None]
