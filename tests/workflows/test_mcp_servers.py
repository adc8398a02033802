"""Sessions whose agents use the tools of real servers."""

import gc
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.harness import Harness
from tests.workflows.conftest import Open
from worker.scripted.script import ScriptedAnswer, ScriptedCall
from workflows.domain.messages import CallState
from workflows.domain.permissions.replies import AskDecision, Reply

SERVER: Final = str(Path(__file__).parents[1] / "mcp_servers" / "everyday.py")
LOCAL: Final = {"type": "local", "command": [sys.executable, SERVER, "stdio"]}
DONE: Final = ScriptedAnswer(text="Done.")


@pytest.fixture(autouse=True)
def no_garbage() -> Iterator[None]:
    """As in tests/activities/mcp/conftest.py."""
    yield
    gc.collect()


def use(tool: str, **arguments: Any) -> ScriptedAnswer:
    return ScriptedAnswer(tools=(ScriptedCall(name=f"s_{tool}", arguments=arguments),))


def last_body(harness: Harness) -> str:
    assert harness.model.last_request is not None
    return json.dumps(harness.model.last_request.body)


async def test_a_servers_tools_are_offered_called_and_explained(open_harness: Open) -> None:
    async with open_harness(use("add", a=20, b=22), DONE) as harness, harness.running_worker():
        harness.configure_person(model={}, mcp={"s": LOCAL})
        session = await harness.start_session("Add.")
        ended: Any = await harness.ended(session)
        (call,) = await harness.calls(session)
        body = last_body(harness)

    assert ended.reason == "done" and call.state is CallState.DONE and call.outcome is not None
    assert call.outcome.output == "42"
    assert '"s_add"' in body and '"s_slow"' in body and "Add with `add`." in body


async def test_a_server_that_dies_in_a_call_leaves_it_unknown_and_the_turn_goes_on(open_harness: Open) -> None:
    async with open_harness(use("die"), use("fail"), use("add", a=1, b=1), DONE) as harness, harness.running_worker():
        harness.configure_person(model={}, mcp={"s": LOCAL})
        session = await harness.start_session("Try.")
        ended: Any = await harness.ended(session)
        died, failed, added = await harness.calls(session)

    assert ended.reason == "done"
    assert died.state is CallState.UNKNOWN and died.outcome is not None
    assert "The connection to 's' was lost while this call ran." in died.outcome.output
    assert failed.state is CallState.FAILED and failed.outcome is not None and "fail" in failed.outcome.output
    assert added.state is CallState.DONE


async def test_a_server_that_is_not_there_costs_its_own_tools_alone(open_harness: Open) -> None:
    broken = {"type": "local", "command": ["/nonexistent/server"]}
    off = {**LOCAL, "enabled": False}
    async with open_harness(use("add", a=1, b=1), DONE) as harness, harness.running_worker():
        harness.configure_person(model={}, mcp={"s": LOCAL, "broken": broken, "off": off})
        session = await harness.start_session("Add.")
        ended: Any = await harness.ended(session)
        (call,) = await harness.calls(session)
        opened: Any = await harness.until(session, lambda event: event.type == "turn.opened")
        turn_config = await harness.database.turn_configs.get(harness.database, opened.turn_config)

    assert ended.reason == "done" and call.state is CallState.DONE
    assert [(each.name, each.status) for each in turn_config.servers] == [
        ("s", "connected"),
        ("broken", "failed"),
        ("off", "disabled"),
    ]
    assert "No such file" in turn_config.servers[1].reason


async def test_a_persons_yes_is_to_the_tool_as_it_was_shown(open_harness: Open) -> None:
    add = use("add", a=1, b=1)
    async with open_harness(add, use("swap"), add, DONE) as harness, harness.running_worker():
        harness.configure_person(model={}, mcp={"s": LOCAL}, permission={"s_add": "ask"})
        session = await harness.start_session("Add.")
        for number in (1, 2):
            (ask,) = await harness.wait_for_asks(session, number)
            (entry,) = await harness.client.inbox.asks(session=session)
            await harness.client.answer(ask, AskDecision(reply=Reply.ONCE))
        await harness.ended(session)
        first, swap, second = await harness.calls(session)

    assert entry.plan is not None and entry.plan.effect.server.startswith("s (")
    assert (first.state, swap.state, second.state) == (CallState.DONE, CallState.DONE, CallState.FAILED)
    assert second.outcome is not None and "has changed it since this turn began" in second.outcome.output
