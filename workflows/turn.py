"""Turn: carries out one move after the other until none is left."""

import asyncio
from collections.abc import Callable
from typing import Any

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError, FailureError, is_cancelled_exception

from activities.model.generate import Model
from activities.tools.run import Tools
from workflows import policies
from workflows.domain import ids
from workflows.domain.moves import Generate, Move, Settle, next_move
from workflows.domain.state import CallState, Phase, TurnState
from workflows.domain.wire import PARKED, CloseReason, GenerateRequest, Ran, RanState, RefuseRequest, RunRequest, Step
from workflows.engine import Engine
from workflows.gate import Gate


class Turn:
    """One turn of a session, from its prompt to its end; a stop ends it wherever it stands."""

    def __init__(self, engine: Engine, turn: TurnState) -> None:
        self.engine = engine
        self.session = engine.state
        self.turn = turn
        self.gate = Gate(engine, turn)
        self.gives_up = False  # a call has failed for good: people and subagents are not waited for any more

    async def run(self) -> None:
        """Carry out moves until none is left or a stop names this turn, then close it."""
        try:
            await work_until(self.session.stop_due, asyncio.ensure_future(self.moves()), self.end_moves)
        finally:
            self.engine.leaving = False
        if self.session.stop_due():  # what the next step would have had to say is no failure of a stopped turn
            await self.engine.close(CloseReason.STOPPED, self.turn.error)
        else:
            await self.engine.close(self.turn.reason, self.turn.failure)

    def end_moves(self) -> None:
        self.engine.leaving = True

    async def moves(self) -> None:
        while move := next_move(self.turn):
            await self.engine.leave_if_long()
            self.show(move)
            match move:
                case Generate():
                    await self.generate(move)
                case Settle():
                    await self.settle()

    async def generate(self, move: Generate) -> None:
        """Get the answer of the next step, or wait until it may be asked for; what cannot be retried ends the turn."""
        request = GenerateRequest(
            **self.engine.fence(),
            turn=self.turn.id,
            step=move.step,
            message=ids.MessageId(self.engine.mint(ids.Prefix.MESSAGE)),
            text_only=move.text_only,
        )
        await self.pause_after_nothing()
        summary = self.engine.summary(f"turn {self.turn.number} step {move.step}")
        looks = self.session.looks
        try:
            step: Step = await self.engine.act(Model.generate, request, policies.model(self.session.limits, summary))
        except ActivityError as error:
            self.turn.error = failure(error)
            return
        if step.finish == PARKED:
            await self.engine.resumed(looks)
        else:
            self.turn.step = move.step
            self.turn.answered(step)

    async def pause_after_nothing(self) -> None:
        """A model that has answered nothing is asked again, each time a little later."""
        if self.turn.empty_answers and workflow.patched("pause-after-empty-answer"):
            await workflow.sleep(2 ** (self.turn.empty_answers - 1))

    async def settle(self) -> None:
        """Bring each open call to its outcome; give way to a new run while only people are waited for, and to the end
        of the turn once one has failed for good and nothing runs any more."""
        calls = asyncio.gather(*(self.call(call) for call in self.turn.open_calls()), return_exceptions=True)
        await work_until(self.only_waits, calls)  # calls that only wait start again in the next run, if there is one

    def only_waits(self) -> bool:
        return self.engine.may_leave() or (self.gives_up and self.engine.in_flight == 0)

    async def call(self, call: CallState) -> None:
        """Ask where a rule says so, then run or refuse; a changed effect is decided anew."""
        while call.open:
            try:
                if call.phase is Phase.DELEGATED:
                    await self.report(call)
                if not self.turn.refuses_calls and await self.gate.passes(call):
                    await self.in_order(call)
                    if self.turn.error is not None:
                        return
                    await self.run_or_delegate(call)
                else:
                    call.ran(await self.refuse(call))
            except ActivityError as error:
                self.turn.error = failure(error)
                self.gives_up = workflow.patched("a-failed-call-ends-its-turn")
                return

    async def in_order(self, call: CallState) -> None:
        """Calls that change one file run one after the other, in the order of the calls."""
        before = self.turn.calls[: self.turn.calls.index(call)]
        rivals = [other for other in before if call.rivals(other)]
        if rivals:
            await workflow.wait_condition(
                lambda: self.turn.error is not None or not any(rival.open for rival in rivals)
            )

    async def run_or_delegate(self, call: CallState) -> None:
        """Run a call; one that a subagent works for is only begun by that, and waits for the subagent's bell."""
        looks = self.session.looks
        ran = await self.run_call(call)
        if ran.state is RanState.PARKED:
            await self.engine.resumed(looks)
        if ran.stopped:
            self.session.stop()
        if ran.child is not None:
            await self.engine.start_child(ran.child, ran.agent)
        call.ran(ran)

    async def report(self, call: CallState) -> None:
        """Wait for the bell of the subagent that works for a call, as long as it takes; the wait costs nothing."""
        await workflow.wait_condition(lambda: call.id in self.session.settled)
        self.session.settled = [each for each in self.session.settled if each != call.id]
        call.reported()

    async def run_call(self, call: CallState) -> Ran:
        """Run a call: as a part of this workflow task where only quick ones are open, for others would wait for it."""
        summary = self.engine.summary(call.shown or f"{call.tool} {call.id}")
        if all(each.tool in policies.QUICK for each in self.turn.open_calls()):
            quick = policies.quick_tool(call.id, summary)
            try:
                here: Ran = await self.engine.act_here(Tools.run, self.run_request(call), quick)
            except FailureError as error:  # replayed it comes bare, without the ActivityError around it
                if is_cancelled_exception(error):
                    raise
            else:
                return here
        ran: Ran = await self.engine.act(Tools.run, self.run_request(call), policies.tool(self.session.limits, summary))
        return ran

    def run_request(self, call: CallState) -> RunRequest:
        return RunRequest(
            **self.engine.fence(), turn=self.turn.id, call=call.id, revision=call.revision, guarded=call.repeats
        )

    async def refuse(self, call: CallState) -> Ran:
        request = RefuseRequest(
            **self.engine.fence(), turn=self.turn.id, call=call.id, no_steps_left=self.turn.refuses_calls
        )
        result: Ran = await self.engine.act(
            Tools.refuse,
            request,
            policies.store(self.session.limits, self.engine.summary("refuse", call.shown or call.tool)),
        )
        return result

    def show(self, move: Move) -> None:
        """Tell the stock UI where the session is."""
        doing = "asks the model" if isinstance(move, Generate) else "settles its calls"
        workflow.set_current_details(f"Turn {self.turn.number}, step {self.turn.step}: {doing}")


async def work_until(
    due: Callable[[], bool], work: asyncio.Future[Any], before_end: Callable[[], None] = lambda: None
) -> None:
    """Let work go on until it is done, `due` holds, or we are cancelled ourselves; then see it really end."""
    try:
        await workflow.wait_condition(lambda: work.done() or due())
    except asyncio.CancelledError:  # no `finally`: a run that leaves the worker's cache is closed, and may not await
        before_end()
        await ended(work)
        raise
    before_end()
    await ended(work)


async def ended(task: asyncio.Future[Any]) -> None:
    """Cancel what still runs, wait for its real end, and raise what it should not have raised."""
    task.cancel()
    results = await asyncio.gather(task, return_exceptions=True)
    for problem in results[0] if isinstance(results[0], list) else results:
        if isinstance(problem, BaseException) and not is_cancelled_exception(problem):
            raise problem


def failure(error: ActivityError) -> str:
    """What a person reads when an activity failed for good; a stop is none, and goes on as what it is.

    A stale fence is no failure of the turn either: it means that this run is not the session's any more.
    """
    if is_cancelled_exception(error):
        raise error
    cause = error.cause
    if not isinstance(cause, ApplicationError):
        return str(cause or error)[:2000]
    if cause.type == "StaleFence":
        raise error
    return cause.message[:2000]  # as text it would begin with the name of its class
