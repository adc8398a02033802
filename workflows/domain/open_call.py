"""OpenCall: an unsettled call."""

from enum import StrEnum
from typing import Any, Final

from pydantic import BaseModel, SerializerFunctionWrapHandler, model_serializer

from workflows.domain.ids import AskId, PartId, SessionId
from workflows.domain.permissions import loop_guard
from workflows.domain.permissions.findings import Finding
from workflows.domain.permissions.loop_guard import GUARD_REQUEST
from workflows.domain.permissions.rules import Action
from workflows.domain.value import Result

GUARD_FINDING: Final = Finding(permission=loop_guard.PERMISSION, action=Action.ASK)


class CallPhase(StrEnum):
    """A call's progress."""

    NEW = "new"
    ASKED = "asked"
    DELEGATED = "delegated"
    SETTLED = "settled"


class CallResultState(StrEnum):
    """DELEGATED: its subagent works, or it waits on purpose; WAITING: its ask is open; DRIFTED: needs a new decision;
    SUSPENDED: not begun."""

    SETTLED = "settled"
    REJECTED = "rejected"
    DELEGATED = "delegated"
    WAITING = "waiting"
    DRIFTED = "drifted"
    SUSPENDED = "suspended"


class CallResult(Result):
    """The result of a run. REJECTED, without feedback, ends the turn (opencode.md 2.5). `stopped`: the turn is stopping
    or over.

    `child`: the session of the call's subagent; `agent`: its name. `seconds`: until its row has to be looked at.
    `gave_result`: as in `OpenCall`. `as_planned`: the change was made as it was
    planned.
    """

    state: CallResultState
    child: SessionId | None = None
    agent: str | None = None
    seconds: float | None = None
    findings: tuple[Finding, ...] = ()
    effect_digest: str | None = None
    revision: int = 0
    stopped: bool = False
    gave_result: bool = False
    as_planned: bool = False


class OpenCall(BaseModel):
    """A call without its contents, made from its row when its answer is stored or its turn is resumed.

    `loop_digest`: of tool and arguments; `effect_digest`: start of the effect's digest. `waits_for`: the places of the
    earlier calls of its answer that it waits for. `is_edit`: it was planned on the text that the edits before it leave.
    `outdated`: it has to be planned anew before it is decided. `label`: for Temporal's UI. `repeats`: the loop guard
    asks. `ask`: the newest one, for `requests`; `answered`: indices of requests that a person or grant answered. `due`:
    when its row has to be looked at, by the workflow's clock (a timestamp). `gave_result`: it has given the result that
    the turn owes. `cut`: the output limit has cut it, so it only tells the model that.
    """

    id: PartId
    tool: str
    loop_digest: str
    findings: tuple[Finding, ...] = ()
    guard: Finding | None = None
    repeats: bool = False
    effect_digest: str | None = None
    waits_for: tuple[int, ...] = ()
    is_edit: bool = False
    outdated: bool = False
    label: str | None = None
    quick: bool = False
    revision: int = 0
    phase: CallPhase = CallPhase.NEW
    ask: AskId | None = None
    requests: tuple[int, ...] = ()
    answered: tuple[int, ...] = ()
    rejected: bool = False
    due: float | None = None
    gave_result: bool = False
    cut: bool = False

    @model_serializer(mode="wrap")
    def _omit_defaults(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Omit default values: each field costs history."""
        fields = type(self).model_fields
        return {name: value for name, value in handler(self).items() if getattr(self, name) != fields[name].default}

    @property
    def open(self) -> bool:
        return self.phase is not CallPhase.SETTLED

    def effective_findings(self) -> dict[int, Finding]:
        """Its requests' findings, after the loop guard's if the call repeats."""
        due = dict(enumerate(self.findings))
        return {GUARD_REQUEST: self.guard or GUARD_FINDING, **due} if self.repeats else due

    def wait_for_ask(self, ask: AskId, requests: tuple[int, ...]) -> None:
        self.phase, self.ask, self.requests = CallPhase.ASKED, ask, requests

    def record_answer(self) -> None:
        """Note that the ask is answered; its row has the answer."""
        self.phase, self.answered = CallPhase.NEW, (*self.answered, *self.requests)

    def outdate(self) -> None:
        """Its ask, if any, is closed when it is planned anew."""
        self.outdated = True

    def end_delegation(self) -> None:
        """Its subagent or wait has ended: its rows say how."""
        self.phase, self.due = CallPhase.NEW, None

    def apply_result(self, result: CallResult, now: float = 0.0) -> None:
        """`now`: by the workflow's clock."""
        match result.state:
            case CallResultState.SETTLED | CallResultState.REJECTED:
                self.phase, self.rejected = CallPhase.SETTLED, result.state is CallResultState.REJECTED
                self.gave_result = result.gave_result
            case CallResultState.DELEGATED:
                self.phase = CallPhase.DELEGATED
                self.due = None if result.seconds is None else now + result.seconds
            case CallResultState.DRIFTED:
                self.findings, self.effect_digest = result.findings, result.effect_digest
                self.revision = result.revision
                self.phase, self.answered = (
                    CallPhase.NEW,
                    (),
                )  # `AskActivities.open` finds an answer to the loop guard again
                if self.guard is not None and self.guard.action is Action.ALLOW:
                    self.guard = None  # a grant may have been revoked
            case CallResultState.WAITING:
                if self.answered and self.ask is not None:
                    self.answered = tuple(index for index in self.answered if index not in self.requests)
                    self.wait_for_ask(self.ask, self.requests)
