"""What passes between workflow and activities, and the bells: ids and numbers, never contents."""

from enum import StrEnum
from typing import Final, NamedTuple

from pydantic import ConfigDict

from workflows.domain.closing import CloseReason as CloseReason
from workflows.domain.ids import AskId, MessageId, PartId, SessionId, StopId, TurnId
from workflows.domain.permissions.findings import Finding
from workflows.domain.permissions.replies import AskState as AskState
from workflows.domain.step_flaw import StepFlaw
from workflows.domain.value import Value as Strict

ANY_FILE: Final = "*"


class Value(Strict):
    """What crosses between releases: fields that a newer one has added are left out, not refused."""

    model_config = ConfigDict(extra="ignore")


class Fence(NamedTuple):
    """Who may write: chain (start of its first run, µs), schedule number, attempt; compared in this order."""

    chain: int
    schedule: int
    attempt: int


class Request(Value):
    """What every activity is told: the session, and the first two numbers of its fence."""

    session: SessionId
    chain: int
    schedule: int

    def fence(self, attempt: int) -> Fence:
        return Fence(self.chain, self.schedule, attempt)


class PromptRef(Value):
    """Bell: a prompt was accepted."""

    prompt: MessageId


class AnswerRef(Value):
    """Bell: an ask was answered; its row says how."""

    ask: AskId


class StopRef(Value):
    """Bell: a stop was accepted, for this turn (None: only untaken prompts were there)."""

    stop: StopId
    turn: TurnId | None = None


class SettledRef(Value):
    """Bell: the subagent that works for this call has ended its turn, or will never begin it."""

    call: PartId


class LookRef(Value):
    """Bell: look at your rows again; `row` is the one that was written, a retry's or a park's."""

    row: str


class PreparedCall(Value):
    """A stored call, without its contents.

    `loop` is the digest of tool and arguments, `effect` the beginning of the effect's digest, `file` stands for
    the file that the call changes (ANY_FILE: it could not be looked at yet). `ask` (open, for `request`) and
    `answered` (indices of requests) are only set when a chain takes an open turn over. `shown` is what the engine's
    own UI may say of it, if more than names.
    """

    id: PartId
    tool: str
    loop: str
    findings: tuple[Finding, ...] = ()
    guard: Finding | None = None
    effect: str | None = None
    file: str | None = None
    revision: int = 0
    settled: bool = False
    ask: AskId | None = None
    request: int | None = None
    answered: tuple[int, ...] = ()
    shown: str | None = None


class LoadRequest(Request):
    """`turn` is the id of the turn that is opened when there is a prompt and no open turn."""

    turn: TurnId


class OpenTurn(Value):
    """An open turn as its rows tell it: the highest registered step, and whether its answer is stored."""

    id: TurnId
    number: int
    step: int = 0
    answer: "Step | None" = None
    stopped: bool = False
    rejected: bool = False
    max_steps: int | None = None
    goes_on_after_reject: bool = False
    recent: tuple[str, ...] = ()
    error: str | None = None


class Loaded(Value):
    """What there is to do: the open turn (a new one, if a prompt waited), or nothing."""

    turn: OpenTurn | None = None
    ended: bool = False


class GenerateRequest(Request):
    """`message` is the id under which the answer is stored, whichever attempt stores it."""

    turn: TurnId
    step: int
    message: MessageId
    text_only: bool = False


PARKED: Final = "parked"  # finish of a step that is not asked for before a person lets the session go on
STOPPED: Final = "stopped"  # finish of a step that was not asked for any more: its turn is being stopped


class Step(Value):
    """A stored answer: why it ended (OpenCode's words, or STOPPED), and its calls.

    `text` is set where text alone was asked for, and says whether there is any: calls are refused then. `flaw` says
    why the answer cannot stand as it is.
    """

    finish: str
    calls: tuple[PreparedCall, ...] = ()
    text: bool | None = None
    flaw: StepFlaw | None = None


class AskRequest(Request):
    """Open an ask for one permission request of a call (`request` = -1: the loop guard)."""

    turn: TurnId
    call: PartId
    ask: AskId
    request: int
    revision: int


class AskOpened(Value):
    """How the ask for that call and request stands, and its id: the one that was opened first. None: there is none."""

    state: AskState
    ask: AskId | None = None


class RunRequest(Request):
    """Run a call. `guarded` says that the loop guard asked, and must have been answered."""

    turn: TurnId
    call: PartId
    revision: int = 0
    guarded: bool = False


class RefuseRequest(Request):
    """Refuse a call that a rule denies, or one that came when no steps were left (`no_steps_left`)."""

    turn: TurnId
    call: PartId
    no_steps_left: bool = False


class RanState(StrEnum):
    """How a call stands: settled, worked for by a subagent, waiting for an answer after all, in need of a new
    decision, or not begun because the session is parked."""

    SETTLED = "settled"
    REJECTED = "rejected"
    STARTED = "started"
    WAITING = "waiting"
    DRIFTED = "drifted"
    PARKED = "parked"


class Ran(Value):
    """What became of a run. `rejected` without feedback ends the turn (opencode.md 2.5). `stopped`: the turn is being
    stopped or is over, as its rows say, and nothing more runs for it.

    `child` is the session of the subagent that works for a call that was started, `agent` the subagent's name.
    """

    state: RanState
    child: SessionId | None = None
    agent: str | None = None
    findings: tuple[Finding, ...] = ()
    effect: str | None = None
    revision: int = 0
    stopped: bool = False


class CloseRequest(Request):
    """Close the turn, if one is open; `end` ends the session for good as well."""

    turn: TurnId | None = None
    reason: CloseReason
    error: str | None = None
    end: bool = False


class Closed(Value):
    untaken: bool = False
    ended: bool = False
