"""Turn: a session workflow's moves."""

import asyncio
from contextlib import suppress
from typing import Final

from temporalio import workflow
from temporalio.exceptions import ActivityError

from activities.model.compact import Compactor
from activities.model.generate import Model
from activities.session.overflows import OverflowActivities
from workflows import policies
from workflows.activity_failures import failure_text, is_overflow
from workflows.call_settler import CallSettler
from workflows.domain import ids
from workflows.domain.errors import ReloadDue
from workflows.domain.moves import Compact, Generate, Move, Outgrow, Settle, next_move
from workflows.domain.turn_state import TurnState
from workflows.domain.wire import (
    FINISH_FULL,
    FINISH_LIMIT,
    FINISH_PAUSED,
    FINISH_SUSPENDED,
    CloseReason,
    CompactRequest,
    CompactResult,
    CompactState,
    GenerateRequest,
    OutgrowRequest,
    OutgrowResult,
    OutgrowState,
    StepResult,
)
from workflows.interruption import run_until
from workflows.runtime import SessionRuntime

_NOT_COMPACTED: Final = "It could not be compacted:"
_SWITCHED_OFF: Final = "Compaction is switched off: `compaction.auto` in the configuration is false."
_DOING: Final = {
    Generate: "asks the model",
    Compact: "compacts its context",
    Outgrow: "needs a larger model",
    Settle: "settles its calls",
}


class Turn:
    """One turn; a stop may end it at any point."""

    def __init__(self, runtime: SessionRuntime, turn: TurnState) -> None:
        self.runtime = runtime
        self.session = runtime.state
        self.turn = turn
        self.settler = CallSettler(runtime, turn)

    async def run(self) -> None:
        """Carry out moves until none is left or a stop names this turn, then close it.

        Returns early when the rows have to be loaded again.
        """
        try:
            await run_until(self.is_interrupted, asyncio.ensure_future(self.run_moves()), self.mark_cancelling)
        finally:
            self.runtime.cancelling = False
        with suppress(ReloadDue):
            if self.session.has_pending_stop():  # a failure that the next step would repair does not count
                await self.runtime.close(CloseReason.STOPPED, self.turn.error)
            else:
                await self.runtime.close(self.turn.reason, self.turn.failure)

    def is_interrupted(self) -> bool:
        """Whether to end the moves. A stop ends them at once, a load as soon as no activity is in flight."""
        return self.session.has_pending_stop() or (self.session.reload and self.runtime.in_flight == 0)

    def mark_cancelling(self) -> None:
        self.runtime.cancelling = True

    async def run_moves(self) -> None:
        while not self.session.reload and (move := next_move(self.turn)):
            await self.runtime.continue_as_new_if_due()
            self.show_progress(move)
            match move:
                case Generate():
                    await self.generate(move)
                case Compact():
                    if not await self.compact():
                        return
                case Outgrow():
                    if not await self.outgrow():
                        return
                case Settle():
                    await self.settler.settle()

    async def generate(self, move: Generate) -> None:
        """Get the next step's answer; wait if the session is suspended; a final failure ends the turn."""
        request = GenerateRequest(
            **self.runtime.fence(),
            turn=self.turn.id,
            step=move.step,
            generation=ids.GenerationId(self.runtime.mint(ids.Prefix.GENERATION)),
            text_only=move.text_only,
            again=move.again,
            unchecked=self.turn.unchecked,
            max_steps=self.turn.max_steps,
        )
        await self.back_off_after_empty_answer()
        summary = self.runtime.summary(f"turn {self.turn.number} step {move.step}")
        self.turn.seen_step = move.step
        try:
            step: StepResult = await self.runtime.run_activity(
                Model.generate, request, policies.model(self.session.limits, summary)
            )
        except ActivityError as error:
            if is_overflow(error):
                self.turn.record_overflow(failure_text(error))
            else:
                self.turn.error = failure_text(error)
            return
        if step.finish == FINISH_SUSPENDED:
            await self.runtime.wait_until_resumed()
        elif step.finish == FINISH_PAUSED:
            await self.runtime.wait_for_provider(step.pause)
        elif step.finish == FINISH_FULL:
            self.turn.record_overflow()
        elif step.finish == FINISH_LIMIT:
            await self.wait_at_limit(step)
        else:
            self.turn.step = move.step
            self.turn.add_answer(step)

    async def wait_at_limit(self, step: StepResult) -> None:
        """Wait until a person decides how to continue, or the limit's day is over; the rows hold the decision."""
        if step.last_step is not None:
            self.turn.end_with(step.last_step)
        elif step.ask is not None:
            await self.wait_for_choice(step.ask, "its budget is spent", step.pause or None)

    async def wait_for_choice(self, asked: ids.AskId, why: str, day: float | None = None) -> None:
        """Wait for a person without a timeout, or for the rest of a `day` in seconds."""
        workflow.set_current_details(f"Turn {self.turn.number}: {why}: holdfast asks {asked}")
        with suppress(TimeoutError):
            await workflow.wait_condition(
                lambda: asked in self.session.answers, timeout=day, timeout_summary="until the day turns"
            )
        self.session.answers = [ask for ask in self.session.answers if ask != asked]

    async def outgrow(self) -> bool:
        """Wait until another model takes over or a person decides how to continue. False: the turn is being stopped."""
        reason = self.turn.outgrown or ""
        request = OutgrowRequest(**self.runtime.fence(), turn=self.turn.id, step=self.turn.step + 1, reason=reason)
        summary = self.runtime.summary(f"turn {self.turn.number}: the context fits in no way")
        try:
            found: OutgrowResult = await self.runtime.run_activity(
                OverflowActivities.outgrow, request, policies.store(self.session.limits, summary)
            )
        except ActivityError as error:
            self.turn.error = f"{reason} {failure_text(error)}"
            return True
        match found.state:
            case OutgrowState.STOPPED:
                self.session.stop()
                return False
            case OutgrowState.SUSPENDED:
                await self.runtime.wait_until_resumed()
            case OutgrowState.ASKED if found.ask is not None:
                await self.wait_for_choice(found.ask, "its conversation is too long")
        self.turn.record_larger_model()
        return True

    async def compact(self) -> bool:
        """Shorten the context of the next step. Where that fails, the step may still be tried.

        False: the turn is being stopped.
        """
        request = CompactRequest(
            **self.runtime.fence(),
            turn=self.turn.id,
            step=self.turn.step + 1,
            generation=self.turn.compacting or ids.GenerationId(self.runtime.mint(ids.Prefix.GENERATION)),
            tried=self.turn.compactions,
            refused=bool(self.turn.overflow),
        )
        self.turn.compacting = None
        summary = self.runtime.summary(f"turn {self.turn.number}: compact the context")
        try:
            compacted: CompactResult = await self.runtime.run_activity(
                Compactor.compact, request, policies.model(self.session.limits, summary)
            )
        except ActivityError as error:
            self.turn.record_failed_compaction(f"{_NOT_COMPACTED} {failure_text(error)}", final=False)
            return True
        if compacted.state is CompactState.STOPPED:
            self.session.stop()
            return False
        await self.apply_compaction(compacted, request.generation)
        return True

    async def apply_compaction(self, compacted: CompactResult, generation: ids.GenerationId) -> None:
        """A paused or suspended compaction continues later."""
        match compacted.state:
            case CompactState.DONE | CompactState.SHORTENED:
                self.turn.record_compaction()
            case CompactState.FAILED:
                self.turn.record_failed_compaction(f"{_NOT_COMPACTED} {compacted.reason}", final=compacted.final)
            case CompactState.OFF:
                self.turn.record_failed_compaction(_SWITCHED_OFF, final=True)
                self.turn.error = self.turn.outgrown  # as configured
            case CompactState.PAUSED:
                self.turn.compacting = generation
                await self.runtime.wait_for_provider(compacted.pause)
            case CompactState.SUSPENDED:
                await self.runtime.wait_until_resumed()

    async def back_off_after_empty_answer(self) -> None:
        """Wait 1, 2, 4 … seconds."""
        if self.turn.empty_answers:
            await workflow.sleep(2 ** (self.turn.empty_answers - 1))

    def show_progress(self, move: Move) -> None:
        """Show the turn's progress in Temporal's UI."""
        doing = _DOING[type(move)]
        workflow.set_current_details(f"Turn {self.turn.number}, step {self.turn.step}: {doing}")
