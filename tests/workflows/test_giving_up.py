"""What keeps failing by a fault of our own code comes to an end, in every activity; effects happen once at most."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from activities import failpoints
from activities.files.place import Place
from activities.tools.table import TOOLS
from activities.tools.tool import Output, Params, Plan, Surroundings, Tool
from tests.house import House, reached
from tests.workflows.conftest import Open
from worker.scripted.script import ScriptedAnswer, ScriptedCall
from workflows.domain.agents import Delegation
from workflows.domain.effects import Effect, Recovery
from workflows.domain.events import Event, TurnEnded
from workflows.domain.ids import SessionId
from workflows.domain.messages import CallState, ToolPart
from workflows.domain.parking import ParkReason
from workflows.domain.permissions.rules import Ruleset

FAULTY: Final = ScriptedAnswer(tools=(ScriptedCall(name="faulty", arguments={}),))
RUN: Final = ScriptedAnswer(tools=(ScriptedCall(name="bash", arguments={"command": "echo ran"}),))
QUICK: Final = ScriptedAnswer(tools=(ScriptedCall(name="glob", arguments={"pattern": "*"}),))
DONE: Final = ScriptedAnswer(text="Done.")
FIVE: Final = "Holdfast itself failed 5 times at"


class Faulty(Tool[Params]):
    """A tool whose code is wrong: it notes what was called, and then breaks."""

    name = "faulty"
    recovery = Recovery.REATTACHABLE
    params = Params

    def __init__(self, *, waits: bool = False) -> None:
        self.waits = waits
        self.called: list[str] = []

    def described(self, delegation: Delegation, rules: Ruleset) -> dict[str, str] | None:
        return None

    async def plan(self, params: Params, place: Place) -> Plan:
        return Plan(requests=(), effect=Effect(tool=self.name, arguments={}, directory=str(place.directory)))

    async def run(self, params: Params, plan: Plan, around: Surroundings) -> Output:
        self.called.append("run")
        if self.waits:
            around.place.directory.joinpath("gate.reached").touch()
            await reached(around.place.directory / "never")
        raise KeyError("run")

    async def recover(self, params: Params, claimed: Plan, around: Surroundings) -> Output:
        self.called.append("recover")
        raise KeyError("recover")

    async def stop(self, params: Params, claimed: Plan, around: Surroundings) -> Output | None:
        self.called.append("stop")
        raise KeyError("stop")


def tools(faulty: Faulty) -> Mapping[str, Tool[Any]]:
    return {**TOOLS, faulty.name: faulty}


def told(call: ToolPart) -> tuple[CallState, str]:
    assert call.outcome is not None
    return call.state, call.outcome.output


async def run_sql(house: House, statement: str) -> None:
    async with house.database.transaction() as connection:
        await connection.execute(statement.encode())


async def parked(house: House, session: SessionId) -> None:
    """Wait until the session is parked for a fault of ours."""
    await house.until(session, lambda event: event.type == "session.parked")
    (found,) = await house.client.parked()
    assert found.reason is ParkReason.BROKEN and str(found.now).startswith(FIVE)


def reason(event: Event) -> str:
    assert isinstance(event, TurnEnded)
    return event.reason


async def test_a_call_that_has_begun_is_not_run_again_and_its_outcome_is_unknown(open_house: Open) -> None:
    faulty = Faulty()
    async with open_house(FAULTY, DONE) as house, house.working(tools=tools(faulty)):
        session = await house.say("Call it.")
        ended = await house.ended(session)
        (call,) = await house.calls(session)
    state, said = told(call)
    assert (reason(ended), state) == ("done", CallState.UNKNOWN) and f"{FIVE} this call" in said
    assert faulty.called == ["run", *["recover"] * 4, "stop"] and len(house.model.ledger.entries) == 2


@pytest.mark.parametrize("answer", [RUN, QUICK])
async def test_a_call_that_could_not_begin_has_not_run(
    open_house: Open, tmp_path: Path, answer: ScriptedAnswer
) -> None:
    told_faults = "tool.before_claim=raise:KeyError"
    async with open_house(answer, DONE) as house, house.working():
        house.configure(permission={"*": "allow"})
        failpoints.configure({failpoints.VARIABLE: told_faults, failpoints.TEST_VARIABLE: str(tmp_path)})
        try:
            session = await house.say("Run it.")
            ended = await house.ended(session)
        finally:
            failpoints.configure({})
        (call,) = await house.calls(session)
    state, said = told(call)
    assert (reason(ended), state) == ("done", CallState.FAILED) and said.endswith("The call has not run.")


async def test_a_stopped_call_that_cannot_be_ended_is_unknown_and_the_turn_ends(open_house: Open) -> None:
    faulty = Faulty(waits=True)
    async with open_house(FAULTY, DONE) as house, house.working(tools=tools(faulty)):
        session = await house.say("Call it.")
        await reached(house.project / "gate")
        await house.client.stop(session)
        ended = await house.ended(session)
        (call,) = await house.calls(session)
        await house.client.prompt(session, "Something else.")
        await house.ended(session, 2)
    state, said = told(call)
    assert (reason(ended), state) == ("stopped", CallState.UNKNOWN) and "KeyError" in said
    assert faulty.called.count("run") == 1 and "recover" not in faulty.called


@pytest.mark.parametrize("action", ["ask", "deny"])
async def test_a_call_that_our_code_cannot_read_parks_its_session_until_it_can(open_house: Open, action: str) -> None:
    break_calls = """
        CREATE FUNCTION breaks() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN NEW.recovery := 'nonsense'; RETURN NEW; END $$;
        CREATE TRIGGER breaks BEFORE INSERT ON call FOR EACH ROW EXECUTE FUNCTION breaks()
    """
    async with open_house(RUN, DONE, DONE) as house, house.working():
        await run_sql(house, break_calls)
        house.configure(permission={"bash": action})
        session = await house.say("Run it.")
        await parked(house, session)
        assert await house.client.asks(session=session) == []
        await run_sql(house, "UPDATE call SET recovery = 'reattachable'; DROP TRIGGER breaks ON call")
        await house.client.resume(session)
        if action == "ask":
            (ask,) = await house.asked(session)
            await house.answer(ask)
        ended = await house.ended(session)
    assert reason(ended) == "done" and len(house.model.ledger.entries) == 2


async def test_a_session_that_our_code_cannot_read_is_parked_until_it_can(open_house: Open) -> None:
    async with open_house(DONE) as house:
        session = await house.say("Hello?")
        await run_sql(house, """UPDATE session SET rules = '"nonsense"'""")
        async with house.working():
            await parked(house, session)
            await run_sql(house, "UPDATE session SET rules = '[]'")
            await house.client.resume(session)
            ended = await house.ended(session)
    assert reason(ended) == "done" and len(house.model.ledger.entries) == 1
