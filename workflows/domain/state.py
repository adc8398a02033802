"""SessionState: the one value that a session's workflow keeps, and that continue-as-new carries."""

from enum import StrEnum

from pydantic import BaseModel

from workflows.domain.ids import AskId, PartId, SessionId, StopId, TurnId
from workflows.domain.permissions import loop_guard
from workflows.domain.permissions.findings import Finding
from workflows.domain.permissions.loop_guard import GUARD as GUARD
from workflows.domain.permissions.loop_guard import repeated
from workflows.domain.permissions.rules import Action
from workflows.domain.step_flaw import StepFlaw
from workflows.domain.value import Value
from workflows.domain.wire import (
    ANY_FILE,
    STOPPED,
    CloseReason,
    Loaded,
    OpenTurn,
    PreparedCall,
    Ran,
    RanState,
    Step,
    StopRef,
)

ASK_GUARD = Finding(permission=loop_guard.PERMISSION, action=Action.ASK)
EMPTY_ANSWERS = 3  # asked again this often when a model answers nothing (opencode.md 4.2)


_FAILURES = {
    StepFlaw.BLOCKED: "The provider's content filter blocked the answer.",
    StepFlaw.CUT: "The answer was cut at the limit of its length before it said anything: raise the model's "
    "`limit.output` (above 32,000: `maxOutputTokens` in its `options`), or have it think less.",
}


class Limits(Value):
    """Numbers that the workflow needs and a replay must find again: seconds, and events of history."""

    idle: float = 300.0
    events: int = 2000
    heartbeat: float = 3.0
    generate: float = 3600.0
    effect: float = 7200.0


class Phase(StrEnum):
    """How far a call is."""

    NEW = "new"
    ASKED = "asked"
    DELEGATED = "delegated"
    SETTLED = "settled"


class CallState(BaseModel):
    """A call of the step in progress, and the answers that it has got so far.

    `answered` are the indices of its requests that somebody (or a grant) has answered; which way, the rows say.
    """

    id: PartId
    tool: str
    loop: str
    findings: tuple[Finding, ...] = ()
    guard: Finding | None = None
    repeats: bool = False
    file: str | None = None
    shown: str | None = None
    revision: int = 0
    phase: Phase = Phase.NEW
    ask: AskId | None = None
    request: int | None = None
    answered: list[int] = []
    rejected: bool = False

    @classmethod
    def prepared(cls, call: PreparedCall, repeats: bool) -> "CallState":
        state = cls(
            id=call.id,
            tool=call.tool,
            loop=call.loop,
            findings=call.findings,
            guard=call.guard,
            repeats=repeats,
            file=call.file,
            shown=call.shown,
            revision=call.revision,
            phase=Phase.SETTLED if call.settled else Phase.NEW,
            answered=list(call.answered),
        )
        if call.ask is not None and call.request is not None:
            state.asked(call.ask, call.request)
        return state

    @property
    def open(self) -> bool:
        return self.phase is not Phase.SETTLED

    def due(self) -> dict[int, Finding]:
        """What decides this call: the findings of its requests, and the loop guard's before them if it repeats."""
        due = dict(enumerate(self.findings))
        return {GUARD: self.guard or ASK_GUARD, **due} if self.repeats else due

    def rivals(self, other: "CallState") -> bool:
        """Whether both may change one file."""
        if self.file is None or other.file is None:
            return False
        return self.file == other.file or ANY_FILE in (self.file, other.file)

    def asked(self, ask: AskId, request: int) -> None:
        self.phase, self.ask, self.request = Phase.ASKED, ask, request

    def heard(self) -> None:
        """The ask that this call waits for has been answered; its row says how."""
        if self.request is not None:
            self.answered.append(self.request)
        self.phase, self.request = Phase.NEW, None

    def reported(self) -> None:
        """The subagent that works for this call has come to an end; its rows say to which."""
        self.phase = Phase.NEW

    def ran(self, result: Ran) -> None:
        match result.state:
            case RanState.SETTLED | RanState.REJECTED:
                self.phase, self.rejected = Phase.SETTLED, result.state is RanState.REJECTED
            case RanState.STARTED:
                self.phase = Phase.DELEGATED
            case RanState.DRIFTED:
                self.findings, self.revision = result.findings, result.revision
                self.answered = []  # a person's answer to the loop guard is found again by `Asks.open`
                if self.guard is not None and self.guard.action is Action.ALLOW:
                    self.guard = None  # a grant may have been revoked
            case RanState.WAITING:
                if self.answered and self.ask is not None:
                    self.asked(self.ask, self.answered.pop())


class TurnState(BaseModel):
    """The open turn: its newest step and that step's calls; `text` is that of the step's answer (see Step)."""

    id: TurnId
    number: int
    step: int = 0
    finish: str | None = None
    calls: list[CallState] = []
    recent: list[str] = []
    text: bool | None = None
    flaw: StepFlaw | None = None
    empty_answers: int = 0
    max_steps: int | None = None
    goes_on_after_reject: bool = False
    rejected: bool = False
    error: str | None = None

    @classmethod
    def opened(cls, turn: OpenTurn) -> "TurnState":
        state = cls(
            id=turn.id,
            number=turn.number,
            step=turn.step,
            recent=list(turn.recent),
            max_steps=turn.max_steps,
            goes_on_after_reject=turn.goes_on_after_reject,
            rejected=turn.rejected,
            error=turn.error,
        )
        if turn.answer is not None:
            state.answered(turn.answer)
        elif turn.step:
            state.step -= 1  # registered, but its answer is not stored: that step is asked for again
        return state

    def answered(self, step: Step) -> None:
        """Take the calls of a stored answer over."""
        digests = [call.loop for call in step.calls]
        repeats = repeated(self.recent, digests)
        self.recent = (self.recent + digests)[-2:]
        self.calls = [CallState.prepared(call, again) for call, again in zip(step.calls, repeats, strict=True)]
        self.finish, self.text, self.flaw = step.finish, step.text, step.flaw
        empty = step.flaw is StepFlaw.EMPTY or (not step.calls and step.finish in ("unknown", "tool-calls"))
        self.empty_answers = self.empty_answers + 1 if empty else 0

    def open_calls(self) -> list[CallState]:
        return [call for call in self.calls if call.open]

    @property
    def refuses_calls(self) -> bool:
        """Whether the newest answer was to be text alone, and its calls are not carried out."""
        return self.text is not None

    @property
    def broken_off(self) -> bool:
        """Whether the newest answer ends the turn at once: its calls are not carried out."""
        return self.error is not None or self.flaw in _FAILURES

    @property
    def failure(self) -> str | None:
        """Why the turn ends as failed, if it does."""
        if self.error is None and self.flaw in _FAILURES:
            return _FAILURES[self.flaw]
        if self.error is None and self.text is False and self.max_steps is not None:
            return (
                f"The agent has used up its {self.max_steps} step{'' if self.max_steps == 1 else 's'} without an "
                "answer: its `steps` in the configuration says how many it may take."
            )
        if self.error is None and self.flaw is StepFlaw.EMPTY and self.empty_answers > EMPTY_ANSWERS:
            return f"The model gave an empty answer {self.empty_answers} times in a row."
        return self.error

    @property
    def reason(self) -> CloseReason:
        if self.failure is not None:
            return CloseReason.FAILED
        if self.finish == STOPPED:
            return CloseReason.STOPPED
        return CloseReason.REJECTED if self.ends_by_reject() else CloseReason.DONE

    def ends_by_reject(self) -> bool:
        rejected = self.rejected or any(call.rejected for call in self.calls)
        return rejected and not self.goes_on_after_reject


class SessionState(BaseModel):
    """What a session's workflow remembers. Nothing that matters lives only in a coroutine.

    `chain` is the start of the chain's first run in microseconds, `schedule` counts the activities of the chain:
    together with an activity's attempt they are its fence. `rung` says that a prompt's bell came since the rows
    were last looked at, `looks` counts the calls to look again; `answers`, `settled` and `stops` hold bells until
    their turn closes.
    """

    session: SessionId
    limits: Limits = Limits()
    chain: int | None = None
    schedule: int = 0
    minted: int = 0
    loaded: bool = False
    rung: bool = False
    looks: int = 0
    ended: bool = False
    turn: TurnState | None = None
    answers: list[AskId] = []
    settled: list[PartId] = []
    stops: list[StopRef] = []

    def whole(self) -> "SessionState":
        """A copy in which every field counts as set.

        Our payload converter leaves out what was never set, and a list that was only appended to counts as that.
        """
        return SessionState.model_validate(self.model_dump())

    def has_work(self) -> bool:
        return self.turn is not None or self.rung or not self.loaded

    def take_up(self, loaded: Loaded) -> None:
        """Go on from what the rows say (opencode.md 4.2 works from stored messages, so do we)."""
        self.loaded = True
        self.ended = loaded.ended
        if loaded.turn is not None:
            self.turn = TurnState.opened(loaded.turn)
            if loaded.turn.stopped or loaded.ended:
                self.stop()

    def stop(self) -> None:
        """Take a stop of the open turn for told, by its rows: its signal may be late, or never come."""
        if self.turn is not None:
            self.rung_stop(StopRef(stop=StopId(""), turn=self.turn.id))

    def rung_stop(self, stop: StopRef) -> None:
        """Keep a stop until its turn closes, once."""
        if stop not in self.stops:
            self.stops.append(stop)

    def stop_due(self) -> bool:
        """Whether a stop names the open turn; one that names another turn, or none, is not for it."""
        return self.turn is not None and any(stop.turn == self.turn.id for stop in self.stops)

    def closed(self, *, untaken: bool, ended: bool) -> None:
        """Forget the turn and the bells that were for it."""
        self.turn = None
        self.answers, self.settled, self.stops = [], [], []
        self.rung = self.rung or untaken
        self.ended = ended
