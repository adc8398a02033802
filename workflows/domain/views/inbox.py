"""What waits for a person."""

from datetime import datetime

from pydantic import JsonValue

from workflows.domain.call_display import CallDisplay
from workflows.domain.effects import Plan
from workflows.domain.ids import AskId, PartId, SessionId, SuspensionId
from workflows.domain.permissions.grants import SavableRule
from workflows.domain.permissions.replies import AskState
from workflows.domain.questions import AskBody, AskKind
from workflows.domain.suspension import SuspendCause
from workflows.domain.value import Value


class InboxEntry(Value):
    """An ask as a person sees it: the exact effect or the questions, and its origin.

    `name`: its short one. `path`: the agents from the top session's down to the asking one. `savable`: the rules that
    "always" would save. `reasons` complete "because …". `builds_on`: the names of the open asks of the edits of
    its answer that it comes after. `also_waiting`: the titles of the other sessions that wait at the same
    limit: the answer counts for all.
    """

    id: AskId
    name: str
    session: SessionId
    call: PartId | None
    title: str
    directory: str
    agent: str
    path: tuple[str, ...]
    tool: str
    arguments: dict[str, JsonValue]
    display: CallDisplay = CallDisplay()
    kind: AskKind = AskKind.PERMISSION
    request: AskBody
    plan: Plan | None
    digest: str
    state: AskState
    asked_at: datetime
    savable: tuple[SavableRule, ...] = ()
    reasons: tuple[str, ...] = ()
    builds_on: tuple[str, ...] = ()
    also_waiting: tuple[str, ...] = ()


class SuspendedSession(SuspendCause):
    session: SessionId
    id: SuspensionId
    title: str


class Completion(Value):
    """`title` describes the id."""

    id: str
    title: str
