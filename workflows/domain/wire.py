"""What passes between workflow, activities and signals: ids and numbers, never contents."""

from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple

from workflows.domain.close_reason import CloseReason as CloseReason
from workflows.domain.generation import Purpose
from workflows.domain.hash_chain import LogPosition
from workflows.domain.ids import (
    ASIDE_TYPE,
    WORKFLOW_TYPE,
    AskId,
    GenerationId,
    PartId,
    ScheduleId,
    SessionId,
    TurnId,
    aside_id,
    workflow_id,
)
from workflows.domain.open_call import OpenCall
from workflows.domain.permissions.replies import AskState as AskState
from workflows.domain.step_flaw import StepFlaw
from workflows.domain.value import Result, WireValue


class Caller(NamedTuple):
    """The type and the id of a workflow."""

    type: str
    id: str


class Request(WireValue):
    """The input of every activity of a session; `epoch` is the newest that its run has loaded, `seen` the newest event
    of the log that it knows of."""

    session: SessionId
    epoch: int
    sequence: int
    seen: LogPosition = LogPosition()

    @property
    def caller(self) -> Caller:
        """The only workflow that may send it."""
        return Caller(WORKFLOW_TYPE, workflow_id(self.session))


class FiringRequest(WireValue):
    """A schedule's moment, by Temporal's clock. Its row says what is due: this is only a hint to look at it."""

    schedule: ScheduleId
    nominal: datetime | None = None


class LoadRequest(Request):
    """`turn`: id of the turn to open if none is open."""

    turn: TurnId


class OpenTurn(WireValue):
    """An open turn: its highest registered step, and the answer if stored. `compactions`: as in `TurnState`, while the
    step has no answer. `compacting`: the request for a summary that waits out a pause of its provider. `compacts`: a
    person has asked for a compaction that is not done yet; `only_compacts`: that request opened the turn. `cuts`,
    `cut_call`, `pauses`, `corrections`, `corrected`: as in `TurnState`, without that answer."""

    id: TurnId
    number: int
    step: int = 0
    answer: "StepResult | None" = None
    stopped: bool = False
    rejected: bool = False
    max_steps: int | None = None
    continue_after_reject: bool = False
    recent_digests: tuple[str, ...] = ()
    compactions: int = 0
    compacting: GenerationId | None = None
    compacts: bool = False
    only_compacts: bool = False
    cuts: int = 0
    cut_call: bool = False
    pauses: int = 0
    corrections: int | None = None
    corrected: int = 0
    error: str | None = None

    @property
    def asks_models(self) -> bool:
        """Whether models are asked: not if the turn is being stopped, or was opened for something else."""
        return not self.stopped and not self.only_compacts and self.error is None


class LoadResult(Result):
    """The run's new epoch, and its work: the open turn (a new one, if a prompt waited), or nothing. `title`: to ask for
    beside it."""

    epoch: int
    turn: OpenTurn | None = None
    ended: bool = False
    title: GenerationId | None = None


class GenerateRequest(Request):
    """`generation`: its id, the same for all attempts. `again` as in `Generate`. `unchecked`: ask although the context
    may be full. `max_steps`: a turn's."""

    turn: TurnId
    step: int
    generation: GenerationId
    text_only: bool = False
    again: bool = False
    unchecked: bool = False
    max_steps: int | None = None


FINISH_PAUSED: Final = "paused"  # without an answer: the provider must not be asked for a while
FINISH_LIMIT: Final = "limit"  # without a request: the budget is spent
FINISH_FULL: Final = "full"  # without a request: the context has to be compacted first
FINISH_SUSPENDED: Final = "suspended"  # in a suspended session
FINISH_STOPPED: Final = "stopped"  # without a request: the turn is being stopped


class StepResult(Result):
    """A stored answer: why it ended (OpenCode's words, or one of the above), and its calls.

    `has_text` is set if the step asked for text only. `flaw`: why it is unusable. `cut`: the output limit has cut it in
    its text. `pause`: seconds, if it is paused. At a limit, `ask` is what a person has to answer, within `pause` if
    that is not 0, or `last_step` the step to end with, in text only. `ordered`: a prompt's calls, no model's.
    `explanation`: the provider's words for a flaw.
    """

    finish: str
    pause: float = 0.0
    calls: tuple[OpenCall, ...] = ()
    has_text: bool | None = None
    flaw: StepFlaw | None = None
    cut: bool = False
    ask: AskId | None = None
    last_step: int | None = None
    ordered: bool = False
    explanation: str = ""


class CompactRequest(Request):
    """`generation`: its id, the same for all attempts. `step`: which waits for it. `tried`: how often its context was
    made shorter before. `refused`: the provider has said that it is too long."""

    turn: TurnId
    step: int = 0
    generation: GenerationId
    tried: int = 0
    refused: bool = False


class CompactState(StrEnum):
    DONE = "done"
    SHORTENED = "shortened"  # prompts that alone were too long
    FAILED = "failed"
    OFF = "off"  # the configuration forbids it
    PAUSED = "paused"  # the provider must not be asked for a while
    STOPPED = "stopped"
    SUSPENDED = "suspended"


class CompactResult(Result):
    """`reason`: why it failed, for people; `final`: it would fail again. `pause`: seconds, if it is paused."""

    state: CompactState
    reason: str = ""
    final: bool = False
    pause: float = 0.0


class OutgrowRequest(Request):
    """The context of a turn's `step` fits its model in no way; `reason`: why, for people."""

    turn: TurnId
    step: int
    reason: str


class OutgrowState(StrEnum):
    ENLARGED = "enlarged"  # another model has taken over
    ASKED = "asked"
    STOPPED = "stopped"
    SUSPENDED = "suspended"


class OutgrowResult(Result):
    """`ask`: what a person has to answer."""

    state: OutgrowState
    ask: AskId | None = None


class AsideRequest(Request):
    """Side work, by a workflow of its own: what the answer of a generation is for."""

    generation: GenerationId
    purpose: Purpose = Purpose.TITLE

    @property
    def caller(self) -> Caller:
        return Caller(ASIDE_TYPE, aside_id(self.session, self.generation))


class AskRequest(Request):
    """Open an ask for requests of a call, by their indices (-1: the loop guard's)."""

    turn: TurnId
    call: PartId
    ask: AskId
    requests: tuple[int, ...]
    revision: int


class AskResult(Result):
    """`ask` is None if there is none."""

    state: AskState
    ask: AskId | None = None


class RunRequest(Request):
    """`loop_guarded`: the loop guard asked and must have been answered. `only_plans`: it may not run yet. `follows`:
    calls before it in its answer may have changed what it does. `turn_ended`: by a rejection; what has not begun does
    not run."""

    turn: TurnId
    call: PartId
    revision: int = 0
    loop_guarded: bool = False
    only_plans: bool = False
    follows: bool = False
    turn_ended: bool = False


class RefuseRequest(Request):
    """Refuse a call that a rule denies, or that came after the last step (`no_steps_left`)."""

    turn: TurnId
    call: PartId
    no_steps_left: bool = False


class CloseRequest(Request):
    """`end` also ends the session. `step`: the last one that the run has seen."""

    turn: TurnId | None = None
    step: int = 0
    reason: CloseReason
    error: str | None = None
    end: bool = False


class CloseResult(Result):
    prompts_waiting: bool = False
    ended: bool = False
