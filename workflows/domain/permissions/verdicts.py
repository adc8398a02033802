"""The verdict on a call."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from workflows.domain.permissions.findings import Finding
from workflows.domain.permissions.rules import Action
from workflows.domain.questions import PERMISSION as QUESTION


@dataclass(frozen=True)
class Allow:
    """Nothing is left to ask."""


@dataclass(frozen=True)
class Ask:
    """A person must decide on the requests with these indices, together."""

    requests: tuple[int, ...]


@dataclass(frozen=True)
class Deny:
    """A rule denies the request with this index."""

    request: int


Verdict: TypeAlias = Allow | Ask | Deny


def verdict(findings: Mapping[int, Finding], answered: Collection[int] = ()) -> Verdict:
    """A deny anywhere wins before anything is asked; else all permissions are asked for at once, then each question."""
    denied = [index for index, finding in findings.items() if finding.action is Action.DENY]
    if denied:
        return Deny(denied[0])
    due = [index for index, each in findings.items() if each.action is Action.ASK and index not in answered]
    permissions = tuple(index for index in due if findings[index].permission != QUESTION)
    return Ask(permissions or (due[0],)) if due else Allow()
