"""Repeated faults of our own code end the turn or suspend the session; effects happen at most once."""

from pathlib import Path
from typing import Final

import pytest

from activities import failpoints
from activities.tools.arguments import Params
from activities.tools.built_in_tool import BuiltInTool
from activities.tools.registry import TOOLS
from activities.tools.tool import Output, Plan, ToolContext, Toolsets
from activities.turn_context import TurnContext
from activities.turn_tools import TurnTools
from tests.harness import Harness, wait_for_file
from tests.workflows.conftest import Open
from worker.scripted.script import ScriptedAnswer, ScriptedCall
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.effects import Effect, Recovery
from workflows.domain.events.event import Event
from workflows.domain.events.turns import TurnEnded
from workflows.domain.ids import SessionId
from workflows.domain.messages import CallState, ToolPart
from workflows.domain.suspension import SuspendReason

FAULTY: Final = ScriptedAnswer(tools=(ScriptedCall(name="faulty", arguments={}),))
RUN: Final = ScriptedAnswer(tools=(ScriptedCall(name="bash", arguments={"command": "echo ran"}),))
QUICK: Final = ScriptedAnswer(tools=(ScriptedCall(name="glob", arguments={"pattern": "*"}),))
DONE: Final = ScriptedAnswer(text="Done.")
FIVE: Final = "Holdfast itself failed 5 times at"


class Faulty(BuiltInTool[Params]):
    """A faulty tool: it records the call, then raises."""

    name = "faulty"
    recovery = Recovery.REATTACHABLE
    params = Params

    def __init__(self, *, waits: bool = False) -> None:
        self.waits = waits
        self.called: list[str] = []

    def description_values(self, turn: TurnConfig) -> dict[str, str] | None:
        return None

    async def plan(self, params: Params, turn: TurnContext) -> Plan:
        return Plan(requests=(), effect=Effect(tool=self.name, arguments={}, directory=str(turn.workspace.directory)))

    async def run(self, params: Params, plan: Plan, context: ToolContext) -> Output:
        self.called.append("run")
        if self.waits:
            context.workspace.directory.joinpath("gate.reached").touch()
            await wait_for_file(context.workspace.directory / "never")
        raise KeyError("run")

    async def recover(self, params: Params, claimed: Plan, context: ToolContext) -> Output:
        self.called.append("recover")
        raise KeyError("recover")

    async def stop(self, params: Params, claimed: Plan, context: ToolContext) -> Output | None:
        self.called.append("stop")
        raise KeyError("stop")


def tools(faulty: Faulty) -> Toolsets:
    return TurnTools({**TOOLS, faulty.name: faulty})


def told(call: ToolPart) -> tuple[CallState, str]:
    assert call.outcome is not None
    return call.state, call.outcome.output


async def run_sql(harness: Harness, statement: str) -> None:
    async with harness.database.transaction() as connection:
        await connection.execute(statement.encode())


async def parked(harness: Harness, session: SessionId) -> None:
    """Wait until a fault of our code has suspended the session."""
    await harness.until(session, lambda event: event.type == "session.suspended")
    (found,) = await harness.client.inbox.suspended()
    assert found.reason is SuspendReason.BROKEN and str(found.now).startswith(FIVE)


def reason(event: Event) -> str:
    assert isinstance(event, TurnEnded)
    return event.reason


async def test_a_call_that_has_begun_is_not_run_again_and_its_outcome_is_unknown(open_harness: Open) -> None:
    faulty = Faulty()
    async with open_harness(FAULTY, DONE) as harness, harness.running_worker(toolsets=tools(faulty)):
        harness.set_limits(heartbeat_seconds=60.0)  # a machine that stands still is no fault of our code
        session = await harness.start_session("Call it.")
        ended = await harness.ended(session)
        (call,) = await harness.calls(session)
    state, said = told(call)
    assert (reason(ended), state) == ("done", CallState.UNKNOWN) and f"{FIVE} this call" in said
    assert faulty.called == ["run", *["recover"] * 4, "stop"] and len(harness.model.ledger.entries) == 2


@pytest.mark.parametrize("answer", [RUN, QUICK])
async def test_a_call_that_could_not_begin_has_not_run(
    open_harness: Open, tmp_path: Path, answer: ScriptedAnswer
) -> None:
    told_faults = "tool.before_claim=raise:KeyError"
    async with open_harness(answer, DONE) as harness, harness.running_worker():
        harness.configure(permission={"*": "allow"})
        failpoints.configure({failpoints.VARIABLE: told_faults, failpoints.TEST_VARIABLE: str(tmp_path)})
        try:
            session = await harness.start_session("Run it.")
            ended = await harness.ended(session)
        finally:
            failpoints.configure({})
        (call,) = await harness.calls(session)
    state, said = told(call)
    assert (reason(ended), state) == ("done", CallState.FAILED) and said.endswith("The call has not run.")


async def test_a_stopped_call_that_cannot_be_ended_is_unknown_and_the_turn_ends(open_harness: Open) -> None:
    faulty = Faulty(waits=True)
    async with open_harness(FAULTY, DONE) as harness, harness.running_worker(toolsets=tools(faulty)):
        session = await harness.start_session("Call it.")
        await wait_for_file(harness.project / "gate")
        await harness.client.stop(session)
        ended = await harness.ended(session)
        (call,) = await harness.calls(session)
        await harness.client.prompt(session, "Something else.")
        await harness.ended(session, 2)
    state, said = told(call)
    assert (reason(ended), state) == ("stopped", CallState.UNKNOWN) and "KeyError" in said
    assert faulty.called.count("run") == 1 and "recover" not in faulty.called


@pytest.mark.parametrize("action", ["ask", "deny"])
async def test_a_call_that_our_code_cannot_read_suspends_its_session_until_it_can(
    open_harness: Open, action: str
) -> None:
    break_calls = """
        CREATE FUNCTION breaks() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN NEW.recovery := 'nonsense'; RETURN NEW; END $$;
        CREATE TRIGGER breaks BEFORE INSERT ON call FOR EACH ROW EXECUTE FUNCTION breaks()
    """
    async with open_harness(RUN, DONE, DONE) as harness, harness.running_worker():
        await run_sql(harness, break_calls)
        harness.configure(permission={"bash": action})
        session = await harness.start_session("Run it.")
        await parked(harness, session)
        assert await harness.client.inbox.asks(session=session) == []
        await run_sql(harness, "UPDATE call SET recovery = 'reattachable'; DROP TRIGGER breaks ON call")
        await harness.client.resume(session)
        if action == "ask":
            (ask,) = await harness.wait_for_asks(session)
            await harness.answer(ask)
        ended = await harness.ended(session)
    assert reason(ended) == "done" and len(harness.model.ledger.entries) == 2


async def test_a_session_that_our_code_cannot_read_is_suspended_until_it_can(open_harness: Open) -> None:
    async with open_harness(DONE) as harness:
        session = await harness.start_session("Hello?")
        await run_sql(harness, """UPDATE session SET rules = '"nonsense"'""")
        async with harness.running_worker():
            await parked(harness, session)
            await run_sql(harness, "UPDATE session SET rules = '[]'")
            await harness.client.resume(session)
            ended = await harness.ended(session)
    assert reason(ended) == "done" and len(harness.model.ledger.entries) == 1
