"""Odd or missing answers of models: each call gets an outcome, each turn ends, nothing is paid twice."""

from datetime import timedelta

import pytest

from tests.worker.cli.conftest import shell
from tests.workflows.conftest import Open
from tests.workflows.delegation import delegates, delegation_scripts
from worker.scripted.request_ledger import StreamEnd
from worker.scripted.script import Drop, Garbage, Refuse, ScriptedAnswer, ScriptedCall, ScriptedFault, WebPage
from workflows.domain.budgets import BudgetLimits
from workflows.domain.events.generations import ModelRetry
from workflows.domain.events.turns import TurnEnded
from workflows.domain.messages import AssistantMessage, CallState, TextPart, ToolPart, UserMessage
from workflows.domain.permissions.replies import Reply
from workflows.domain.prompt import Prompt
from workflows.domain.questions import AskKind
from workflows.domain.session_filter import EVERY_SESSION

ODD = "NUL \0, escape \x1b[2K, half a surrogate \ud83d, a bell \x07, \u202e and \x7f\x9b."
DONE = ScriptedAnswer(text="Done.")


@pytest.mark.parametrize(
    "arguments",
    ['{"filePath": "a.txt", "limit": 1e999}', '{"filePath": "a', "[1, 2]", '{"x": ' * 300 + "1" + "}" * 300],
    ids=["infinite", "cut", "list", "deep"],
)
async def test_the_model_reads_that_its_arguments_cannot_be_used(open_harness: Open, arguments: str) -> None:
    odd = ScriptedAnswer(tools=(ScriptedCall(name="read", arguments=arguments),))
    async with open_harness(odd, DONE) as harness, harness.running_worker():
        session = await harness.start_session("Read a.txt.")
        await harness.ended(session)
        (call,) = await harness.calls(session)
    assert (call.tool, call.state) == ("invalid", CallState.DONE)
    assert len(harness.model.ledger.entries) == 2


async def test_odd_call_ids_are_stored_and_answered(open_harness: Open) -> None:
    ids = ("a\x00b", "a\ufffdb", "\ud800", "x" * 2000, "x" * 2000 + "y")
    looks = (ScriptedCall(name="glob", arguments={"pattern": f"*{n}"}, id=id) for n, id in enumerate(ids))
    odd = ScriptedAnswer(tools=tuple(looks))
    async with open_harness(odd, DONE) as harness, harness.running_worker():
        session = await harness.start_session("List.")
        ended = await harness.ended(session)
    assert isinstance(ended, TurnEnded) and ended.reason == "done" and len(harness.model.ledger.entries) == 2


async def test_odd_characters_are_kept_wherever_they_come_from_and_the_model_can_be_asked_on(
    open_harness: Open,
) -> None:
    write = r"printf 'a\000b \001\033[2K\r\377\355\240\275 \302\233'"
    odd = ScriptedAnswer(
        reasoning=ODD,
        text=ODD,
        tools=(
            ScriptedCall(name="bash", arguments={"command": write}),
            ScriptedCall(name=f"no {ODD}", arguments={}),
            ScriptedCall(name="todowrite", arguments={"todos": [{"content": ODD, "status": "pending"}]}),
            ScriptedCall(name="grep", arguments={"pattern": ODD}),
        ),
    )
    async with open_harness(odd, DONE) as harness, harness.running_worker():
        session = await harness.start_session(ODD)
        ended = await harness.ended(session)
        said, answer, *_ = await harness.client.records.transcript(session)
        verified = await harness.client.records.verify(session)
        calls = await harness.calls(session)
    assert isinstance(ended, TurnEnded) and ended.reason == "done" and verified.problem is None
    assert isinstance(said, UserMessage) and said.text == ODD
    assert isinstance(answer, AssistantMessage) and [
        part.text for part in answer.parts[:2] if not isinstance(part, ToolPart)
    ] == [ODD, ODD]
    assert all(call.outcome is not None for call in calls) and calls[0].state is CallState.DONE
    assert [entry.end for entry in harness.model.ledger.entries] == [StreamEnd.COMPLETE] * 2


async def test_text_with_nul_from_every_door_hinders_no_reader(open_harness: Open) -> None:
    """PostgreSQL looks into no json that holds it."""
    nul, grown = "a \0 b", BudgetLimits(tokens=10**9)
    question = {"question": nul, "header": nul, "options": [{"label": nul, "description": nul}]}
    tools = (
        ScriptedCall(name="bash", arguments={"command": "true", "description": nul}),
        ScriptedCall(name="question", arguments={"questions": [question]}),
        *delegates("child", prompt=f"[[script:child]] {nul}").tools,
    )
    scripts = delegation_scripts(ScriptedAnswer(text=nul, tools=tools), DONE, DONE, child=(ScriptedAnswer(text=nul),))
    async with open_harness(scripts=scripts) as harness, harness.running_worker():
        client = harness.client
        harness.file("AGENTS.md", nul)
        harness.configure(permission={"bash": "ask"})
        session = await harness.start_session(nul)
        await harness.wait_for_asks(session, 2)
        asked = {entry.kind: entry for entry in await client.inbox.asks(session=session)}
        await harness.answer(asked[AskKind.QUESTION].id, Reply.ANSWER, answers=((nul,),))
        await harness.answer(asked[AskKind.PERMISSION].id, Reply.REJECT, feedback=nul)
        await harness.ended(session)
        await client.asides.give_title(session, nul)
        await client.prompt(session, Prompt.of_text(nul), limits=grown)
        await harness.ended(session, 2)
        used = await client.sessions.statistics(EVERY_SESSION, offset=timedelta(), limit=9)
        totals, (budget,) = await client.sessions.totals(session), await client.sessions.budgets(session)
        exported = await shell(harness).run("export", session)
        fork = (await client.copies.fork_session(session)).session
        await client.archives.restore(await client.archives.archive(fork))
        chains = [(await client.records.verify(each)).problem for each in (session, fork)]
        deleted = await client.deletions.delete(fork)

    assert exported.code == 0 and exported.out.count(r"a \u0000 b") > 8
    assert chains == [None, None] and deleted.failures == ()
    assert {row.steps for row in used.usage if row.kind == "all"} == {totals.steps} == {4}
    assert budget.used.steps == 4


@pytest.mark.filterwarnings("ignore:Sending a large body directly:ResourceWarning")  # aiohttp's, of the next request
async def test_answers_of_megabytes_are_stored_whole_and_never_pass_through_the_engine(open_harness: Open) -> None:
    sizes = (1_900_000, 2_100_000, 8_000_000)
    lines = ["fifteen letters\n" * (size // 16) for size in sizes]
    answers = [
        ScriptedAnswer(
            text=text if size < 2_000_000 else "",
            tools=(ScriptedCall(name="write", arguments={"filePath": f"{size}.txt", "content": text}),),
            chunk=100_000,
        )
        for size, text in zip(sizes, lines, strict=True)
    ]
    async with open_harness(*answers, DONE) as harness, harness.running_worker():
        session = await harness.start_session("Write a lot.")
        ended = await harness.ended(session)
        _, first, *_ = await harness.client.records.transcript(session)
        history = await harness.history(session)
    assert isinstance(ended, TurnEnded) and ended.reason == "done"
    assert isinstance(first, AssistantMessage) and first.parts[0] == TextPart(text=lines[0])
    assert [(harness.project / f"{size}.txt").stat().st_size for size in sizes] == [len(text) for text in lines]
    assert len(history.to_json()) < 100_000


@pytest.mark.parametrize(
    "page",
    [
        WebPage(body="<title>Welcome</title>"),
        WebPage(content_type="text/event-stream", body=""),
        Garbage(data="42"),
        Drop(),
    ],
    ids=["page", "nothing", "garbage", "dropped"],
)
async def test_a_server_that_gives_no_answer_is_asked_again_and_says_what_it_gave(
    open_harness: Open, page: ScriptedFault
) -> None:
    async with open_harness(DONE.model_copy(update={"faults": {1: page}})) as harness, harness.running_worker():
        session = await harness.start_session("Hello?")
        retry = await harness.until(session, lambda event: event.type == "model.retry")
        assert isinstance(retry, ModelRetry)
        await harness.ended(session)
        (note,) = [
            seen.contents[retry.note]
            async for seen in harness.client.records.log(session)
            if retry.note in seen.contents
        ]
        _, answer = await harness.client.records.transcript(session)
    assert isinstance(answer, AssistantMessage) and answer.parts == (TextPart(text="Done."),)
    assert (retry.attempt, retry.kind) == (1, "network") and "rovider" in str(note) or "onnection" in str(note)


async def test_a_refused_request_ends_the_turn_with_the_providers_words(open_harness: Open) -> None:
    body = {"error": {"message": "No \x00 such thing. " + "x" * 20_000, "type": "invalid_request_error"}}
    odd = ScriptedAnswer(text="never", faults={1: Refuse(status=400, body=body)})
    async with open_harness(odd) as harness, harness.running_worker():
        session = await harness.start_session("Hello?")
        ended = await harness.ended(session)
        said = (await harness.client.sessions.get(session)).error
        history = await harness.history(session)
    assert isinstance(ended, TurnEnded) and ended.reason == "failed" and "such thing" in str(said)
    assert len(harness.model.ledger.entries) == 1 and len(history.to_json()) < 40_000


async def test_a_rate_limit_is_waited_out_and_shown(open_harness: Open) -> None:
    limited = ScriptedAnswer(text="Hello.", faults={1: Refuse(status=429, headers={"retry-after": "0.2"})})
    async with open_harness(limited) as harness, harness.running_worker():
        session = await harness.start_session("Hello?")
        await harness.ended(session)
        retries = [event for event in await harness.events(session) if isinstance(event, ModelRetry)]
    assert [(retry.attempt, retry.kind) for retry in retries] == [(1, "429")]
    assert len(harness.model.ledger.entries) == 2


async def test_a_loop_that_a_rule_denies_is_refused(open_harness: Open) -> None:
    look = ScriptedAnswer(tools=(ScriptedCall(name="glob", arguments={"pattern": "*.txt"}),))
    async with open_harness(*[look] * 5, DONE) as harness, harness.running_worker():
        harness.configure(permission={"doom_loop": "deny"})
        session = await harness.start_session("Look, and look, and look.")
        await harness.ended(session)
        calls = await harness.calls(session)
    assert [call.state for call in calls] == [*[CallState.DONE] * 4, CallState.REFUSED]
