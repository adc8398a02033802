"""The verdict on a call."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from workflows.domain.permissions.findings import Finding
from workflows.domain.permissions.rules import Action


@dataclass(frozen=True)
class Allow:
    """Nothing is left to ask."""


@dataclass(frozen=True)
class Ask:
    """A person must decide on the request with this index."""

    request: int


@dataclass(frozen=True)
class Deny:
    """A rule denies the request with this index."""

    request: int


Verdict: TypeAlias = Allow | Ask | Deny


def verdict(findings: Mapping[int, Finding], answered: Collection[int] = ()) -> Verdict:
    """A deny anywhere wins before anything is asked; else one question after the other."""
    denied = [index for index, finding in findings.items() if finding.action is Action.DENY]
    if denied:
        return Deny(denied[0])
    due = [index for index, each in findings.items() if each.action is Action.ASK and index not in answered]
    return Ask(due[0]) if due else Allow()
