"""The tools of a turn, by its configuration."""

from typing import Any

from activities.model.step_request import offer_tools
from activities.tools.registry import TOOLS
from activities.turn_tools import MissingTool, TurnTools
from tests.activities.model.conftest import adapter as adapter
from tests.activities.model.conftest import open_model as open_model
from tests.activities.model.model_rig import Open
from tests.activities.rig import ActivityRig
from worker.scripted.script import ScriptedAnswer, ScriptedCall
from workflows.domain.config.config import Config
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.effects import Effect, Plan
from workflows.domain.mcp import OfferedTool
from workflows.domain.messages import CallState
from workflows.domain.output_format import STRUCTURED_OUTPUT, OutputFormat
from workflows.domain.permissions.rules import Action, Rule
from workflows.domain.permissions.rulesets import Rulesets

TICKET = OfferedTool(
    server="tracker",
    tool="ticket",
    name="tracker_ticket",
    description="Find a ticket.",
    parameters={"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]},
)
GONE = "No connection offers the tool 'tracker_ticket' any more. It was not run: go on without it."


def turn(*rules: Rule, **more: Any) -> TurnConfig:
    allowed = (Rule(permission="*", pattern="*", action=Action.ALLOW), *rules)
    return TurnConfig(directory="/", worktree=None, config=Config(), rules=Rulesets.of(allowed), **more)


def test_a_turn_without_foreign_tools_has_those_of_holdfast() -> None:
    assert TurnTools(TOOLS).of(turn()) is TOOLS


def test_a_turn_that_owes_a_result_has_the_tool_for_it() -> None:
    owes = turn(format=OutputFormat(json_schema={"type": "object"}))

    assert set(TurnTools(TOOLS).of(owes)) == {*TOOLS, STRUCTURED_OUTPUT}


def test_a_foreign_tool_is_offered_as_the_configuration_holds_it() -> None:
    offering = turn(foreign_tools=(TICKET,))
    offers = offer_tools(TurnTools(TOOLS).of(offering), offering, "a/b")

    assert TICKET.offer in offers and [offer.name for offer in offers] == sorted(offer.name for offer in offers)


def test_a_foreign_tool_that_a_rule_denies_is_not_offered() -> None:
    denying = turn(Rule(permission="tracker_*", pattern="*", action=Action.DENY), foreign_tools=(TICKET,))

    assert TICKET.offer not in offer_tools(TurnTools(TOOLS).of(denying), denying, "a/b")


def test_a_foreign_tool_does_not_take_the_place_of_ours() -> None:
    impostor = turn(foreign_tools=(TICKET.model_copy(update={"name": "read"}),))

    assert TurnTools(TOOLS).of(impostor) == TOOLS


async def test_a_call_of_a_foreign_tool_that_is_gone_says_so(open_model: Open) -> None:
    calls = ScriptedAnswer(tools=(ScriptedCall(name=TICKET.name, arguments={"number": 7}),))
    async with open_model(calls) as model:
        await model.rig.offer(TICKET)
        (call,) = (await model.generate()).calls
        await model.rig.run(call.id)
        sent = {each["function"]["name"]: each["function"] for each in model.sent["tools"]}

    row = await model.rig.row(call.id)
    assert sent[TICKET.name]["parameters"] == TICKET.parameters
    assert (row.tool, row.state, await model.rig.output(call.id)) == (TICKET.name, CallState.FAILED, GONE)


async def test_a_call_that_an_earlier_worker_began_is_unknown_once_its_tool_is_gone(rig: ActivityRig) -> None:
    await rig.open_turn()
    await rig.offer(TICKET)
    rig.tools = {**TOOLS, TICKET.name: MissingTool(TICKET)}
    call, fence = await rig.called(TICKET.name, number=7), rig.fence()
    effect = Effect(tool=TICKET.name, arguments={"number": 7}, directory=str(rig.project))
    await rig.claim(call, fence, Plan(requests=(), effect=effect))
    rig.tools = TOOLS

    await rig.run(call, attempt=2, sequence=fence.sequence)

    assert await rig.state(call) is CallState.UNKNOWN
