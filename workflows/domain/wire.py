"""What passes between workflow, activities and signals: ids and numbers, never contents."""

from enum import StrEnum
from typing import Final, NamedTuple

from workflows.domain.close_reason import CloseReason as CloseReason
from workflows.domain.ids import AskId, GenerationId, PartId, SessionId, TurnId
from workflows.domain.open_call import OpenCall
from workflows.domain.permissions.replies import AskState as AskState
from workflows.domain.step_flaw import StepFlaw
from workflows.domain.value import WireValue

WAKE: Final = "wake"  # the one signal's name


class Fence(NamedTuple):
    """Fencing token: epoch, sequence number and attempt of a request, and the number that its execution has drawn.

    A Temporal that was rolled back gives out the same requests again: only the same execution is the same holder.
    """

    epoch: int
    sequence: int
    attempt: int
    execution: int

    def supersedes(self, holder: "Fence") -> bool:
        """Whether this attempt is later than the holder; an equal one of another execution is not."""
        return self[:3] > holder[:3]

    def may_take(self, holder: "Fence | None") -> bool:
        """Whether this execution holds it, or may take it over."""
        return holder is None or self == holder or self.supersedes(holder)


class Request(WireValue):
    """Every activity's input: the session, the newest epoch that its run has loaded, and a number of the run's."""

    session: SessionId
    epoch: int
    sequence: int


class WakeKind(StrEnum):
    """What came: a prompt or retry, an answer, a stop of a turn, a subagent's end, a person's leave to go on.

    REFRESH says nothing but that the rows have to be read.
    """

    WORK = "work"
    ANSWER = "answer"
    STOP = "stop"
    SETTLED = "settled"
    RESUME = "resume"
    REFRESH = "refresh"


class Wake(WireValue):
    """Signal: a hint to look at the rows; `subject`: id of the row that it is about."""

    kind: WakeKind
    subject: str = ""
    turn: TurnId | None = None


class LoadRequest(Request):
    """`turn`: the id of the turn to open for a prompt if none is open."""

    turn: TurnId


class OpenTurn(WireValue):
    """An open turn from its rows: the highest registered step, and its answer if stored."""

    id: TurnId
    number: int
    step: int = 0
    answer: "StepResult | None" = None
    stopped: bool = False
    rejected: bool = False
    max_steps: int | None = None
    continue_after_reject: bool = False
    recent_digests: tuple[str, ...] = ()
    error: str | None = None


class LoadResult(WireValue):
    """The epoch that the run now has, and its work: the open turn (a new one, if a prompt waited), or nothing."""

    epoch: int
    turn: OpenTurn | None = None
    ended: bool = False


class GenerateRequest(Request):
    """`generation`: its id, the same for all attempts."""

    turn: TurnId
    step: int
    generation: GenerationId
    text_only: bool = False


FINISH_SUSPENDED: Final = "suspended"  # finish of a step in a suspended session
FINISH_STOPPED: Final = "stopped"  # finish of a step without a request: its turn is being stopped


class StepResult(WireValue):
    """A stored answer: why it ended (OpenCode's words, or one of the above), and its calls.

    `has_text` is set if the step asked for text only. `flaw`: why the answer is unusable.
    """

    finish: str
    calls: tuple[OpenCall, ...] = ()
    has_text: bool | None = None
    flaw: StepFlaw | None = None


class AskRequest(Request):
    """Open an ask for one request of a call (`request` = -1: the loop guard)."""

    turn: TurnId
    call: PartId
    ask: AskId
    request: int
    revision: int


class AskResult(WireValue):
    """The ask's state and id (None: there is no ask)."""

    state: AskState
    ask: AskId | None = None


class RunRequest(Request):
    """`loop_guarded`: the loop guard asked and must have been answered."""

    turn: TurnId
    call: PartId
    revision: int = 0
    loop_guarded: bool = False


class RefuseRequest(Request):
    """Refuse a call that a rule denies, or that came after the last step (`no_steps_left`)."""

    turn: TurnId
    call: PartId
    no_steps_left: bool = False


class CloseRequest(Request):
    """Close the turn, if one is open; `end` also ends the session. `step`: the last one that the run has seen."""

    turn: TurnId | None = None
    step: int = 0
    reason: CloseReason
    error: str | None = None
    end: bool = False


class CloseResult(WireValue):
    prompts_waiting: bool = False
    ended: bool = False
