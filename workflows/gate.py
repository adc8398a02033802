"""Gate: a call waits here until a rule, a grant or a person has decided."""

from temporalio import workflow

from activities.session.asks import Asks
from workflows import policies
from workflows.domain import ids
from workflows.domain.permissions.verdicts import Allow, Ask, verdict
from workflows.domain.state import CallState, Phase, TurnState
from workflows.domain.wire import AskOpened, AskRequest, AskState
from workflows.engine import Engine


class Gate:
    """Decides calls from their findings; opens an ask where a person has to decide, and waits for its bell."""

    def __init__(self, engine: Engine, turn: TurnState) -> None:
        self.engine = engine
        self.session = engine.state
        self.turn = turn

    async def passes(self, call: CallState) -> bool:
        """Wait until nothing is left to ask. True: the call goes to `Tools.run`, where the rows of its asks decide;
        False: a rule denies it."""
        while True:
            if call.phase is Phase.ASKED:
                await self.bell(call)
            decided = verdict(call.due(), call.answered)
            if not isinstance(decided, Ask):
                return isinstance(decided, Allow)
            if not await self.ask(call, decided.request):
                return True

    async def ask(self, call: CallState, request: int) -> bool:
        """Open the ask; its id is in the state first, for its bell may come before the activity has reported. A run
        that was reset has asked before, under another id: that ask is waited for.

        False: an earlier answer has settled the call already.
        """
        ask = ids.AskId(self.engine.mint(ids.Prefix.ASK))
        call.asked(ask, request)
        opened: AskOpened = await self.engine.act(
            Asks.open,
            AskRequest(
                **self.engine.fence(),
                turn=self.turn.id,
                call=call.id,
                ask=ask,
                request=request,
                revision=call.revision,
            ),
            policies.store(self.session.limits, self.engine.summary("ask", ask, call.shown or call.tool)),
        )
        if opened.ask is not None:
            call.asked(opened.ask, request)
        if opened.state is AskState.ANSWERED:
            self.session.answers.append(opened.ask or ask)
        return opened.state is not AskState.CLOSED

    async def bell(self, call: CallState) -> None:
        """Wait for the answer's bell, as long as it takes; the wait costs nothing."""
        workflow.set_current_details(
            f"Turn {self.turn.number}: waits for an answer: holdfast asks {call.ask} ({call.shown or call.tool})"
        )
        await workflow.wait_condition(lambda: call.ask in self.session.answers)
        self.session.answers = [ask for ask in self.session.answers if ask != call.ask]
        call.heard()
