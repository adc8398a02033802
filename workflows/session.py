"""SessionWorkflow: prompts in, turns, asks out, continue-as-new, sleep. Start reading here."""

import asyncio

from temporalio import workflow
from temporalio.exceptions import ActivityError, is_cancelled_exception

from workflows.domain import ids
from workflows.domain.state import SessionState
from workflows.domain.wire import AnswerRef, CloseReason, LookRef, PromptRef, SettledRef, StopRef
from workflows.engine import Engine
from workflows.turn import Turn


@workflow.defn(name=ids.WORKFLOW)
class SessionWorkflow:
    """A session: takes prompts up, runs turns, keeps asks open, and sleeps by completing."""

    @workflow.init
    def __init__(self, state: SessionState) -> None:
        self.state = state
        self.engine = Engine(state)

    @workflow.run
    async def run(self, state: SessionState) -> None:
        try:
            while await self.awake():
                await self.engine.leave_if_long()
                if self.state.turn is None:
                    await self.engine.load()
                still_wanted()
                if self.state.turn is not None:
                    await Turn(self.engine, self.state.turn).run()
        except (asyncio.CancelledError, ActivityError) as error:
            if not is_cancelled_exception(error):
                raise
            # The workflow's own cancellation: a stop only cancels the turn's moves, and never comes here.
            await self.engine.close(CloseReason.ENDED, end=True)
            raise

    @workflow.signal(name="prompt")
    def prompt(self, prompt: PromptRef) -> None:
        self.state.rung = True

    @workflow.signal(name="answer")
    def answer(self, answer: AnswerRef) -> None:
        if answer.ask not in self.state.answers:
            self.state.answers.append(answer.ask)

    @workflow.signal(name="stop")
    def stop(self, stop: StopRef) -> None:
        self.state.rung_stop(stop)

    @workflow.signal(name="settled")
    def settled(self, settled: SettledRef) -> None:
        if settled.call not in self.state.settled:
            self.state.settled.append(settled.call)

    @workflow.signal(name="look")
    def look(self, bell: LookRef) -> None:
        self.state.rung = True
        self.state.looks += 1

    async def awake(self) -> bool:
        """Wait for work (an open turn is work); False: the run may end. No await after the last look."""
        still_wanted()
        while not self.state.has_work():
            if self.state.ended:
                return False
            try:
                await workflow.wait_condition(
                    self.state.has_work, timeout=self.state.limits.idle, timeout_summary="idle"
                )
            except TimeoutError:
                await workflow.wait_condition(workflow.all_handlers_finished)
                if not self.state.has_work():
                    return False
        return True


def still_wanted() -> None:
    """Notice a cancellation that came while an activity finished all the same: its result swallows it."""
    if workflow.cancellation_reason() is not None:
        raise asyncio.CancelledError
