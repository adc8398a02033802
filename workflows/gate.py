"""The gate of calls."""

import asyncio

from temporalio import workflow

from activities.session.asks import AskActivities
from workflows import policies
from workflows.domain import ids
from workflows.domain.open_call import CallPhase, OpenCall
from workflows.domain.permissions.verdicts import Allow, Ask, verdict
from workflows.domain.turn_state import TurnState
from workflows.domain.wire import AskRequest, AskResult, AskState
from workflows.runtime import SessionRuntime


class Gate:
    """Decides calls from their findings; opens an ask where a person must decide."""

    def __init__(self, runtime: SessionRuntime, turn: TurnState) -> None:
        self.runtime = runtime
        self.session = runtime.state
        self.turn = turn
        self.opening = asyncio.Lock()

    async def passes(self, call: OpenCall) -> bool:
        """Whether `ToolActivities.run` may have the call; False if a rule denies it. Undecided, it is planned anew
        there if it is outdated, and does not begin if the turn ends."""
        while True:
            if call.phase is CallPhase.ASKED:
                await self.wait_for_answer(call)
            if call.outdated or self.turn.ends_by_reject():
                return True
            decided = verdict(call.effective_findings(), call.answered)
            if not isinstance(decided, Ask):
                return isinstance(decided, Allow)
            async with self.opening:  # people meet the asks of an answer in the order of its calls
                if not (call.outdated or self.turn.ends_by_reject() or await self.ask(call, decided.requests)):
                    return True

    async def ask(self, call: OpenCall, requests: tuple[int, ...]) -> bool:
        """Open an ask; False if an earlier answer has settled the call."""
        ask = ids.AskId(self.runtime.mint(ids.Prefix.ASK))
        call.wait_for_ask(ask, requests)  # first: the answer's signal may outrun the activity
        opened: AskResult = await self.runtime.run_activity(
            AskActivities.open,
            AskRequest(
                **self.runtime.fence(),
                turn=self.turn.id,
                call=call.id,
                ask=ask,
                requests=requests,
                revision=call.revision,
            ),
            policies.store(self.session.limits, self.runtime.summary("ask", ask, call.label or call.tool)),
        )
        if opened.ask is not None:  # perhaps another one, of a run before a reset
            call.wait_for_ask(opened.ask, requests)
        if opened.state is AskState.ANSWERED:
            self.session.answers.append(opened.ask or ask)
        return opened.state is not AskState.CLOSED

    async def wait_for_answer(self, call: OpenCall) -> None:
        """Waits without a timeout."""
        workflow.set_current_details(
            f"Turn {self.turn.number}: waits for an answer: holdfast asks {call.ask} ({call.label or call.tool})"
        )
        await workflow.wait_condition(  # where the turn ends, the ask is closed
            lambda: call.ask in self.session.answers or call.outdated or self.turn.ends_by_reject()
        )
        if call.ask in self.session.answers:
            self.session.answers = [ask for ask in self.session.answers if ask != call.ask]
            call.record_answer()
