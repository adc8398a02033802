"""Replies: what an answer to one ask does to the other open asks of its session (opencode.md 2.4)."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from workflows.domain.ids import AskId
from workflows.domain.permissions.grants import Grant, covering
from workflows.domain.permissions.requests import PermissionRequest
from workflows.domain.permissions.rules import Ruleset


class AskState(StrEnum):
    """The life of an ask; how it was closed says its reason."""

    OPEN = "open"
    ANSWERED = "answered"
    CLOSED = "closed"


class Reply(StrEnum):
    """What a person can answer to an ask."""

    ONCE = "once"
    ALWAYS = "always"
    REJECT = "reject"


@dataclass(frozen=True)
class OpenAsk:
    """An ask that waits, with the rules of its turn."""

    id: AskId
    request: PermissionRequest
    rules: Ruleset


def released(asks: Iterable[OpenAsk], grants: Iterable[Grant]) -> list[tuple[AskId, Grant]]:
    """The open asks that the session's grants now cover, each with the grant that lets it through."""
    grants = tuple(grants)
    found = ((ask.id, covering(ask.request, ask.rules, grants)) for ask in asks)
    return [(ask, grant) for ask, grant in found if grant is not None]


def carried_along(replied: AskId, asks: Iterable[OpenAsk]) -> list[AskId]:
    """The open asks that a reject of one closes with it: all others of the session, without its feedback."""
    return [ask.id for ask in asks if ask.id != replied]
