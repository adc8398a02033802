"""TurnState: the open turn of a session, as its workflow keeps it."""

from pydantic import BaseModel

from workflows.domain.ids import GenerationId, TurnId
from workflows.domain.messages import FINISH_PAUSE
from workflows.domain.open_call import OpenCall
from workflows.domain.output_format import STRUCTURED_OUTPUT
from workflows.domain.permissions.loop_guard import find_repeats
from workflows.domain.step_flaw import StepFlaw
from workflows.domain.wire import FINISH_STOPPED, CloseReason, OpenTurn, StepResult

MAX_EMPTY_ANSWERS = 3  # retries of an empty answer (opencode.md 4.2)
MAX_COMPACTIONS = 3  # of one step's context, each to something shorter
MAX_CONTINUATIONS = 3  # in a row: four times the output limit is more than an answer needs, and each piece is paid
MAX_PAUSES = 10  # in a row: each is paid, and a provider works long before it pauses
_MORE_OUTPUT = (
    "raise the model's `limit.output` (above 32,000: `maxOutputTokens` in its `options`), or have it think less."
)
_FLAW_MESSAGES = {
    StepFlaw.BLOCKED: "The provider's content filter blocked the answer.",
    StepFlaw.BROKEN_OFF: "The answer broke off.",
    StepFlaw.CUT: "The answer was cut at the output limit before it said anything; thinking counts as well: "
    f"{_MORE_OUTPUT}",
}


class TurnState(BaseModel):
    """The open turn: its newest answered step and that step's calls; `has_text` as in `StepResult`.

    `seen_step`: the highest step that the run has asked for, or found registered. `overflow`: why the next step's
    context has to be compacted first: the provider's words, or "" where its tokens say so; `compactions`: how often it
    was tried, and `compacting` the request for a summary that is paused. `unchecked`: in vain, so in this turn only the
    provider says when a context is too long. `outgrown`: why the step's context fits the turn's model in no way.
    `only_compacts`: no model is asked for a step.
    `cuts`: how many answers in a row the output limit has cut, the newest one included, and `cut_call` whether that was
    in a call, where `calls` are not known any more.
    `pauses`: how many answers in a row the provider has paused in, the newest one included. `explanation`: the
    provider's words for the newest one's flaw.
    `corrections`: how often a missing result may be corrected (None: the turn owes none). `corrected`: how many answers
    before the newest one should have given it.
    """

    id: TurnId
    number: int
    step: int = 0
    seen_step: int = 0
    finish: str | None = None
    calls: list[OpenCall] = []
    recent_digests: list[str] = []
    has_text: bool | None = None
    flaw: StepFlaw | None = None
    empty_answers: int = 0
    overflow: str | None = None
    compactions: int = 0
    compacting: GenerationId | None = None
    unchecked: bool = False
    outgrown: str | None = None
    only_compacts: bool = False
    cuts: int = 0
    cut_call: bool = False
    pauses: int = 0
    explanation: str = ""
    corrections: int | None = None
    corrected: int = 0
    max_steps: int | None = None
    continue_after_reject: bool = False
    rejected: bool = False
    error: str | None = None

    @classmethod
    def from_open_turn(cls, turn: OpenTurn) -> "TurnState":
        state = cls(
            id=turn.id,
            number=turn.number,
            step=turn.step,
            seen_step=turn.step,
            recent_digests=list(turn.recent_digests),
            max_steps=turn.max_steps,
            continue_after_reject=turn.continue_after_reject,
            rejected=turn.rejected,
            compactions=turn.compactions,
            compacting=turn.compacting,
            only_compacts=turn.only_compacts,
            overflow="" if turn.only_compacts and turn.compacts else None,
            error=turn.error,
            cuts=turn.cuts,
            cut_call=turn.cut_call,
            pauses=turn.pauses,
            corrections=turn.corrections,
            corrected=turn.corrected,
        )
        if turn.answer is not None:
            state.add_answer(turn.answer)
        elif turn.step:
            state.step -= 1  # its answer is not stored: ask again
        return state

    def add_answer(self, step: StepResult) -> None:
        self.corrected = self.missed_results
        continued = self.cuts > 0 and not (self.calls or self.cut_call)
        digests = [call.loop_digest for call in step.calls]
        repeats = find_repeats(self.recent_digests, digests)
        self.recent_digests = (self.recent_digests + digests)[-2:]
        self.calls = [
            call.model_copy(update={"repeats": again and not (call.cut or self._is_for_result(call))})
            for call, again in zip(step.calls, repeats, strict=True)
        ]
        self.finish, self.has_text, self.flaw, self.cut_call = step.finish, step.has_text, step.flaw, False
        self.explanation = step.explanation
        self.pauses = self.pauses + 1 if step.finish == FINISH_PAUSE and not step.calls else 0
        if step.ordered and self.max_steps is not None:
            self.max_steps += 1  # the agent's own are still to come
        empty = step.flaw is StepFlaw.EMPTY or (not step.calls and step.finish in ("unknown", "tool-calls"))
        if continued and step.finish == "stop":
            empty = False  # what was cut had come to its end
        self.empty_answers = self.empty_answers + 1 if empty else 0
        cut = (step.cut and self.corrections is None) or any(call.cut for call in step.calls)
        self.cuts = self.cuts + 1 if cut else 0
        self.compactions = 0

    def record_overflow(self, message: str = "") -> None:
        """The step's context is too long; `message`: the provider's words."""
        if self.compactions < MAX_COMPACTIONS:
            self.overflow = message
        elif message:
            self.outgrown = f"{message} Compacting it did not help."
        else:
            self.unchecked = True

    def end_with(self, last_step: int) -> None:
        """The budget is spent: this step is the last one."""
        self.max_steps = min(last_step, self.max_steps or last_step)

    def record_compaction(self) -> None:
        self.overflow = None
        self.compactions += 1

    def record_failed_compaction(self, why: str, *, final: bool) -> None:
        """Try once more, shorter, unless that is `final`; then ask all the same, unless the provider has refused."""
        self.compactions = MAX_COMPACTIONS if final else self.compactions + 1
        if self.compactions < MAX_COMPACTIONS:
            return
        if self.overflow:
            self.outgrown = f"{self.overflow} {why}"
        self.overflow, self.unchecked = None, True

    def record_larger_model(self) -> None:
        """The context may fit the turn's model now, or be compacted for it."""
        self.outgrown, self.compactions, self.unchecked = None, 0, False

    def open_calls(self) -> list[OpenCall]:
        return [call for call in self.calls if call.open]

    def refuses(self, call: OpenCall) -> bool:
        """Whether the newest step asked for text only, or for nothing but the turn's result."""
        return self.has_text is not None and not self._is_for_result(call)

    def _is_for_result(self, call: OpenCall) -> bool:
        return self.corrections is not None and call.tool == STRUCTURED_OUTPUT

    @property
    def owes_result(self) -> bool:
        return self.corrections is not None and not any(call.gave_result for call in self.calls)

    @property
    def missed_results(self) -> int:
        """How many answers should have given the result, and did not: in text alone, or by an invalid call."""
        answered = self.finish not in (None, FINISH_STOPPED, FINISH_PAUSE) and self.empty_answers == 0
        missed = answered and (not self.calls or any(map(self._is_for_result, self.calls)))
        return self.corrected + int(self.owes_result and missed)

    @property
    def has_used_up_corrections(self) -> bool:
        return self.corrections is not None and self.missed_results > self.corrections

    @property
    def is_aborted(self) -> bool:
        """Whether the turn ends before the newest answer's calls run."""
        return self.error is not None or self.flaw in _FLAW_MESSAGES

    @property
    def failure(self) -> str | None:
        if self.error is not None:
            return self.error
        if self.flaw in _FLAW_MESSAGES:
            return _explained(_FLAW_MESSAGES[self.flaw], self.explanation)
        if self.pauses > MAX_PAUSES:
            return f"The provider has paused {self.pauses} times in a row, and the model came to no end."
        if self.cuts > MAX_CONTINUATIONS and self.calls:
            return f"The output limit has cut {self.cuts} answers in a row, the last one in a call: {_MORE_OUTPUT}"
        if self._lacks_result:
            return self._missing_result()
        if self.has_text is False and self.max_steps is not None and self.corrections is None:
            return self._steps_used_up("an answer")
        if self.flaw is StepFlaw.EMPTY and self.empty_answers > MAX_EMPTY_ANSWERS:
            what = "came to no proper end" if self.explanation else "gave an empty answer"
            return _explained(f"The model {what} {self.empty_answers} times in a row.", self.explanation)
        return None

    @property
    def _lacks_result(self) -> bool:
        """Whether the turn ends without the result that it owes, and not by a person."""
        by_person = self.finish in (None, FINISH_STOPPED) or self.ends_by_reject()
        return self.owes_result and not by_person and self.empty_answers <= MAX_EMPTY_ANSWERS

    def _missing_result(self) -> str:
        if self.has_used_up_corrections:
            return (
                f"The model gave no result that fits the schema, in {_times(self.missed_results, 'try', 'tries')}: "
                "`holdfast log` shows what it gave."
            )
        return self._steps_used_up("a result that fits the schema")

    def _steps_used_up(self, missing: str) -> str:
        return (
            f"The agent has used up its {_times(self.max_steps or 0, 'step', 'steps')} without {missing}: its `steps` "
            "in the configuration, or its budget, says how many it may take."
        )

    @property
    def reason(self) -> CloseReason:
        if self.failure is not None:
            return CloseReason.FAILED
        if self.finish == FINISH_STOPPED:
            return CloseReason.STOPPED
        return CloseReason.REJECTED if self.ends_by_reject() else CloseReason.DONE

    def ends_by_reject(self) -> bool:
        rejected = self.rejected or any(call.rejected for call in self.calls)
        return rejected and not self.continue_after_reject


def _explained(text: str, explanation: str) -> str:
    return f"{text.rstrip('.')}: {explanation.rstrip('.')}." if explanation else text


def _times(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
