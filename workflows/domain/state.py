"""SessionState: a session workflow's state."""

from typing import TypeVar

from pydantic import BaseModel

from workflows.domain.hash_chain import LogPosition
from workflows.domain.ids import AskId, PartId, SessionId, TurnId
from workflows.domain.turn_state import TurnState
from workflows.domain.value import WireValue
from workflows.domain.wake_signal import Wake, WakeKind
from workflows.domain.wire import AsideRequest, LoadResult

T = TypeVar("T")


class TurnLimits(WireValue):
    """Numbers that a replay must find again: seconds, and events of history."""

    idle: float = 300.0
    events: int = 2000
    heartbeat: float = 3.0
    model_timeout: float = 3600.0
    tool_timeout: float = 7200.0


class Aside(WireValue):
    """Side work of a session, as its workflow gets it."""

    request: AsideRequest
    limits: TurnLimits = TurnLimits()


class SessionState(BaseModel):
    """All state of a session's workflow, carried by continue-as-new: no coroutine holds anything that matters.

    `epoch`: from the newest load of its rows; `sequence` counts the activities of this run and those that it continues;
    both go into the fence. `seen`: the newest event of its log that an activity has reported. `load_due`: work was
    signalled since the last load. `reload`: load before anything else is begun. `answers`, `settled` and `stops` (their
    turns) hold signals until their turn closes. `behaviour` (`workflows.domain.behaviour`): given by what starts the
    run.
    """

    session: SessionId
    behaviour: int = 1
    limits: TurnLimits = TurnLimits()
    epoch: int = 0
    sequence: int = 0
    seen: LogPosition = LogPosition()
    minted: int = 0
    loaded: bool = False
    load_due: bool = False
    reload: bool = False
    ended: bool = False
    turn: TurnState | None = None
    answers: list[AskId] = []
    settled: list[PartId] = []
    stops: list[TurnId] = []

    def with_all_fields_set(self) -> "SessionState":
        """Marks all fields as set: the payload converter would omit lists that were only appended to."""
        return SessionState.model_validate(self.model_dump())

    def wake(self, wake: Wake) -> None:
        """Apply a signal; idempotent."""
        match wake.kind:
            case WakeKind.WORK:
                self.load_due = True
            case WakeKind.ANSWER:
                add_once(self.answers, AskId(wake.subject))
            case WakeKind.SETTLED:
                add_once(self.settled, PartId(wake.subject))
            case WakeKind.STOP if wake.turn is not None:  # else it was for untaken prompts
                add_once(self.stops, wake.turn)
            case WakeKind.RESUME | WakeKind.REFRESH:
                self.reload = True

    def has_work(self) -> bool:
        return self.turn is not None or self.load_due or self.reload or not self.loaded

    def apply_load_result(self, loaded: LoadResult) -> None:
        """Continue from the rows, as OpenCode does from stored messages (opencode.md 4.2)."""
        self.loaded = True
        self.epoch = loaded.epoch
        self.ended = loaded.ended
        self.turn = TurnState.from_open_turn(loaded.turn) if loaded.turn else None
        if loaded.turn is not None and (loaded.turn.stopped or loaded.ended):
            self.stop()

    def begin_anew(self) -> None:
        """The rows are older than this run: the next load takes them as they are, as a new run's does."""
        self.epoch, self.seen = 0, LogPosition()

    def stop(self) -> None:
        """Apply a stop found in the rows: its signal may be late or lost."""
        if self.turn is not None:
            add_once(self.stops, self.turn.id)

    def has_pending_stop(self) -> bool:
        return self.turn is not None and self.turn.id in self.stops

    def close_turn(self, *, prompts_waiting: bool, ended: bool) -> None:
        self.turn = None
        self.answers, self.settled, self.stops = [], [], []
        self.load_due = self.load_due or prompts_waiting
        self.ended = ended


def add_once(kept: list[T], signalled: T) -> None:
    if signalled not in kept:
        kept.append(signalled)
