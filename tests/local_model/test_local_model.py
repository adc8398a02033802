"""A server and a model that nobody here wrote. What the model writes means nothing: pieces, tokens and rows count."""

import asyncio
from contextlib import aclosing

import pytest

from tests.harness import Harness
from tests.local_model.local_model import CHAT, MESSAGES, RESPONSES, Wire, serve
from tests.polling import WAIT_TIMEOUT
from tests.workflows.conftest import Open
from workflows.domain.events.generations import ContextCompacted, MessageCompleted, ModelRetry
from workflows.domain.events.turns import TurnEnded
from workflows.domain.ids import SessionId
from workflows.domain.messages import AssistantMessage, TextPart
from workflows.domain.permissions.replies import Reply
from workflows.domain.prompt import Prompt
from workflows.domain.usage import Tokens
from workflows.domain.views.deltas import PublishedDelta
from workflows.domain.views.events import EventWithContents

EACH_WIRE = pytest.mark.parametrize("wire", [CHAT, RESPONSES, MESSAGES], ids=lambda wire: wire.name)
SENTENCE = "The fox lives in a wood beside the river. "  # ten tokens
SUMMARY = r"""root ::= "## Objective\nWait.\n\n## Work state\nnone\n\n## Next move\nSay done." """


async def start(harness: Harness, text: str) -> SessionId:
    started = await harness.client.start(str(harness.project), Prompt.of_text(text, model="local/model"))
    return started.session


async def answers(harness: Harness, session: SessionId) -> list[AssistantMessage]:
    found = await harness.client.records.transcript(session)
    return [entry for entry in found if isinstance(entry, AssistantMessage)]


def text_of(answer: AssistantMessage) -> str:
    return "".join(part.text for part in answer.parts if isinstance(part, TextPart))


async def follow(harness: Harness, session: SessionId, *, pieces: int | None = None) -> dict[str, list[str]]:
    """The pieces of each answer, until so many have come, or to the end of the turn."""
    found: dict[str, list[str]] = {}
    async with asyncio.timeout(WAIT_TIMEOUT), aclosing(harness.client.records.watch(session)) as watched:
        async for seen in watched:
            if isinstance(seen, EventWithContents):
                if isinstance(seen.record.event, TurnEnded):
                    break
            elif isinstance(seen, PublishedDelta) and seen.body["kind"] == "text":
                found.setdefault(seen.source, []).append(str(seen.body["text"]))
            if pieces is not None and sum(map(len, found.values())) >= pieces:
                break
    return found


async def end_of(harness: Harness, session: SessionId, turns: int = 1) -> str:
    ended = await harness.ended(session, turns)
    assert isinstance(ended, TurnEnded)
    return ended.reason


@EACH_WIRE
async def test_an_answer_comes_in_pieces_and_is_counted_as_the_server_counts(open_harness: Open, wire: Wire) -> None:
    async with serve() as model, open_harness() as harness, harness.running_worker():
        model.configure(harness, wire, output=200)
        session = await start(harness, "Say hello.")
        pieces = await follow(harness, session)
        await harness.client.prompt(session, Prompt.of_text("And in French?"))
        reason, given = await end_of(harness, session, 2), await answers(harness, session)
        counted = await model.metrics()

    assert reason == "done" and all(map(text_of, given))
    used = sum((answer.body.tokens for answer in given), Tokens())
    assert used.input == counted["prompt_tokens_total"]
    assert used.cache_read == counted["prompt_tokens_cached_total"] > 0
    assert used.output == counted["tokens_predicted_total"]
    first, *_ = given
    assert len(pieces[first.id]) > 1 and text_of(first).startswith("".join(pieces[first.id]).rstrip())


@EACH_WIRE
async def test_a_mentioned_file_reaches_the_model_and_a_stop_frees_its_slot(open_harness: Open, wire: Wire) -> None:
    async with serve(endless=True) as model, open_harness() as harness, harness.running_worker():
        model.configure(harness, wire, output=1500)
        harness.file("notes.txt", "The zebra sleeps in the cellar.\n")
        session = await start(harness, "What does @notes.txt say?")
        await follow(harness, session, pieces=2)
        (slot,) = await model.busy_slots()
        await harness.client.stop(session)
        reason = await end_of(harness, session)
        counted = await model.until(lambda found: not found["requests_processing"])

    assert "The zebra sleeps in the cellar." in slot["prompt"]
    assert reason == "stopped" and counted["tokens_predicted_total"] < 1500


@EACH_WIRE
async def test_a_conversation_that_the_server_refuses_as_too_long_is_compacted(open_harness: Open, wire: Wire) -> None:
    """The configuration says that a conversation may be longer than the server was started for. What Holdfast says to
    the summariser and beside the notes takes some 300 tokens each: a smaller window leaves too little for the rest."""
    async with serve(768) as model, open_harness() as harness, harness.running_worker():
        model.configure(harness, wire, output=100, context=8192, grammar=SUMMARY)
        session = await start(harness, f"Read. {SENTENCE * 30}")
        await harness.ended(session)
        await harness.client.prompt(session, Prompt.of_text(f"And this. {SENTENCE * 30}"))
        reason, events = await end_of(harness, session, 2), await harness.events(session)
        summary = await harness.client.records.summary(session)

    assert reason == "done" and summary is not None and "## Next move" in summary
    assert any(isinstance(event, ContextCompacted) for event in events)


@EACH_WIRE
async def test_a_person_is_asked_where_nothing_makes_the_conversation_fit(open_harness: Open, wire: Wire) -> None:
    async with serve(512) as model, open_harness() as harness, harness.running_worker():
        model.configure(harness, wire, output=100, context=8192)
        session = await start(harness, SENTENCE * 60)
        (ask,) = await harness.wait_for_asks(session)
        (asked,) = await harness.client.inbox.asks(session=session)
        await harness.answer(ask, Reply.REJECT)
        reason, counted = await end_of(harness, session), await model.metrics()

    assert reason == "stopped" and counted["prompt_tokens_total"] == 0
    assert "exceeds the available context size (512 tokens)" in str(asked)


async def test_two_sessions_at_one_slot_take_turns(open_harness: Open) -> None:
    async with serve(endless=True) as model, open_harness() as harness, harness.running_worker():
        model.configure(harness, RESPONSES, output=60)
        sessions = [await start(harness, text) for text in ("Say hello.", "Say goodbye.")]
        await model.until(lambda found: found["requests_deferred"] > 0)
        reasons = [await end_of(harness, session) for session in sessions]
        given = [await answers(harness, session) for session in sessions]

    assert reasons == ["done", "done"] and all(text_of(answer) for each in given for answer in each)


@EACH_WIRE
async def test_a_killed_server_is_asked_again_and_its_answer_stored_once(open_harness: Open, wire: Wire) -> None:
    async with serve(endless=True) as model, open_harness() as harness, harness.running_worker():
        model.configure(harness, wire, output=60)
        session = await start(harness, "Say hello.")
        await follow(harness, session, pieces=1)
        await model.kill()
        await harness.until(session, lambda event: isinstance(event, ModelRetry))
        await model.start()
        reason, given = await end_of(harness, session), await answers(harness, session)
        stored = [event.step for event in await harness.events(session) if isinstance(event, MessageCompleted)]
        counted, verified = await model.metrics(), await harness.client.records.verify(session)

    assert reason == "done" and not verified.problem
    assert len(set(stored)) == len(stored) == len(given)
    assert sum(answer.body.tokens.output for answer in given) == counted["tokens_predicted_total"]
