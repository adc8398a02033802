"""A prompt's own instructions: a layer of the system prompt of the turn that it opens, and of no other."""

import json
from typing import Any, Final

from tests.harness import Harness
from tests.workflows.conftest import Open
from worker.opencode.export import Exporter
from worker.scripted.model_server import ReceivedRequest
from worker.scripted.script import Refuse, ScriptedAnswer, ScriptedCall
from workflows.domain.ids import SessionId
from workflows.domain.prompt import Prompt
from workflows.domain.sent_request import RequestChoice, SentRequest

OWN: Final = "Speak of the heron alone."
DONE: Final = ScriptedAnswer(text="Done.")
LOOK: Final = ScriptedAnswer(tools=(ScriptedCall(name="glob", arguments={"pattern": "*"}),))
REFUSED_ONCE: Final = DONE.model_copy(update={"faults": {1: Refuse(status=400, body={"error": {"message": "nope"}})}})


def prompt(**more: Any) -> Prompt:
    return Prompt.of_text("What is there?", model="scripted/model", **more)


async def sent(harness: Harness, session: SessionId, turn: int, step: int = 1) -> SentRequest:
    return await harness.client.records.sent(session, RequestChoice(turn=turn, step=step))


async def test_they_hold_in_each_step_of_their_turn_in_its_retry_and_in_copies_until_they_are_deleted(
    open_harness: Open,
) -> None:
    async with open_harness(LOOK, REFUSED_ONCE, DONE) as harness, harness.running_worker():
        accepted = await harness.client.start(str(harness.project), prompt(system=OWN))
        session = accepted.session
        await harness.ended(session)
        fork = (await harness.client.copies.fork_session(session)).session
        for each, turns in ((session, 2), (fork, 1)):
            await harness.client.retry(each)
            await harness.ended(each, turns)
        request = harness.model.last_request
        own = [await sent(harness, session, *step) for step in ((1, 1), (1, 2), (2, 1))]
        own.append(await sent(harness, fork, 2))
        await harness.client.prompt(session, prompt())
        await harness.ended(session, 3)
        other = await sent(harness, session, 3)
        history = "".join([(await harness.history(each)).to_json() for each in (session, fork)])
        configs = json.dumps([row["body"] for row in await harness.database.rows(b"SELECT body FROM turn_config")])
        await harness.client.deletions.delete_message(session, accepted.prompt)
        erased = await sent(harness, session, 2)

    assert request is not None and request.body["messages"][0]["content"].endswith(f"\n\n{OWN}")
    assert all(each.as_sent and each.layers == own[0].layers for each in own)
    assert own[0].layers[-1].text == OWN and own[0].layers[-1].tokens > 0
    assert other.as_sent and other.layers == own[0].layers[:-1] == erased.layers and not erased.as_sent
    assert OWN not in history and OWN not in configs


async def test_a_prompt_with_instructions_waits_for_a_turn_of_its_own(open_harness: Open) -> None:
    async with open_harness(DONE, DONE) as harness:
        session = await harness.start_session("Go.")
        await harness.client.prompt(session, prompt(system=OWN))
        async with harness.running_worker():
            await harness.ended(session, 2)
            texts = [[layer.text for layer in (await sent(harness, session, turn)).layers] for turn in (1, 2)]
    assert [OWN in each for each in texts] == [False, True]


async def test_tools_that_a_prompt_takes_away_are_neither_offered_nor_run_in_its_turn_and_its_retry(
    open_harness: Open,
) -> None:
    async with open_harness(LOOK, REFUSED_ONCE, DONE, DONE) as harness, harness.running_worker():
        tools = {"glob": False, "todo*": False, "write": False, "read": True}
        session = (await harness.client.start(str(harness.project), prompt(tools=tools))).session
        await harness.ended(session)
        await harness.client.retry(session)
        await harness.ended(session, 2)
        limited = harness.model.last_request
        await harness.client.prompt(session, prompt())
        await harness.ended(session, 3)
        free = harness.model.last_request
        (call,) = await harness.database.rows(b"SELECT state, outcome FROM call")
        records, overview = harness.client.records, await harness.client.sessions.get(session)
        info = Exporter(overview, overview.directory).info(
            await harness.client.sessions.origin(session), await harness.client.sessions.totals(session), "global", "1"
        )
        pieces = Exporter(overview, overview.directory).document(info, records.messages(session))
        exported = json.loads("".join([piece async for piece in pieces]))["messages"]

    def offered(request: ReceivedRequest | None) -> set[str]:
        assert request is not None
        return {tool["function"]["name"] for tool in request.body["tools"]}

    assert offered(free) - offered(limited) == {"glob", "todowrite", "write", "edit"}
    assert call["state"] == "refused" and "glob" in str(call["outcome"])
    assert [each["info"].get("tools") for each in exported if each["info"]["role"] == "user"] == [tools, None]
