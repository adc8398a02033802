"""Behaviours of answers, and of the requests that they lead to."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

import pytest

from activities.model.failures import Overflow, Retry, classify
from activities.model.port import FilePiece, Finish, ImagePiece, TextPiece, UserInput
from activities.model.stream import Answer as Assembled
from tests.providers.behaviours.conversation import Conversation
from tests.providers.behaviours.long_turn import Sizes, check_extension, least_cached_share, play_long_turns
from tests.providers.behaviours.rows import Rig, row
from tests.providers.behaviours.script import Answer, Call, End, Output, Text, Thought
from tests.providers.double_requests import GO, collect_answer
from tests.providers.provider_double import serve_double
from workflows.domain.errors import ModelError
from workflows.domain.messages import Outcome, ReasoningPart, RequestedCall, TextPart
from workflows.domain.step_flaw import StepFlaw, find_flaw

PNG: Final = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PDF: Final = "JVBERi0xLjQK"
READ: Final = Call("read", '{"path": "a"}')
DONE: Final = Answer((Text("Done."),))
TWO: Final = Answer((Text("Both:"), READ, Call("read", '{"path": "b"}')))


@row("text")
async def text(rig: Rig) -> None:
    rig.wire.play(Answer((Text("Grüße, 世界 👋"),)))
    rig.talk.prompt()
    answer = await rig.talk.ask()
    assert (answer.parts, answer.finish) == ((TextPart(text="Grüße, 世界 👋"),), Finish.STOP)
    assert answer.tokens.reported and bool(answer.tokens.cache_read) == rig.wire.caches


@row("the same, split at any byte")
async def split(rig: Rig) -> None:
    rig.wire.play(Answer((Text("Grüße, 世界 👋"), Call("read", '{"path": "世"}'))))
    for size in (1, 2, 3, 7):
        rig.wire.double.split = size
        answer = await collect_answer(rig.port, rig.wire.request())
        assert _shown(answer) == ["Grüße, 世界 👋", ("read", {"path": "世"})]


@row("reasoning, and its return unchanged")
async def reasoning(rig: Rig) -> None:
    await _think(rig, (Thought("First the file."), Text("I read it."), READ))


@row("reasoning between calls")
async def interleaved(rig: Rig) -> None:
    await _think(rig, (Thought("One."), READ, Thought("Two."), READ))


async def _think(rig: Rig, output: tuple[Output, ...]) -> None:
    rig.wire.play(Answer(output), DONE)
    rig.talk.prompt()
    answer = await rig.talk.ask(options=rig.wire.thinking)
    thoughts = [part for part in answer.parts if isinstance(part, ReasoningPart)]
    assert [part.text for part in thoughts if part.text] == [each.text for each in output if isinstance(each, Thought)]
    rig.talk.settle(Outcome(output="x"))
    await rig.talk.ask(options=rig.wire.thinking)
    secrets = [secret for part in thoughts for block in part.details for secret in _secrets(block)]
    secrets = secrets if rig.wire.signs else [part.text for part in thoughts]
    assert secrets and [secret for secret in secrets if secret not in rig.talk.sent] == []
    places = [rig.talk.sent.index(secret) for secret in secrets]
    assert places == sorted(places)


@row("parallel calls")
async def parallel(rig: Rig) -> None:
    rig.wire.play(TWO, DONE)
    rig.talk.prompt()
    answer = await rig.talk.ask()
    assert _shown(answer) == ["Both:", ("read", {"path": "a"}), ("read", {"path": "b"})]
    assert answer.finish is Finish.TOOL_CALLS and len({call.id for call in answer.calls}) == 2
    rig.talk.settle(Outcome(output="x"))
    assert _shown(await rig.talk.ask()) == ["Done."]


@row("empty arguments")
async def empty_arguments(rig: Rig) -> None:
    rig.wire.play(Answer((Call("read", ""),)), DONE)
    rig.talk.prompt()
    assert _shown(await rig.talk.ask()) == [("read", {})]
    rig.talk.settle(Outcome(output=""))
    await rig.talk.ask()


@row("a failing call")
async def failing_call(rig: Rig) -> None:
    rig.wire.play(Answer((READ,)), DONE)
    rig.talk.prompt()
    await rig.talk.ask()
    rig.talk.settle(Outcome(output="No such file: a", error=True))
    await rig.talk.ask()
    assert "No such file: a" in rig.talk.sent


@row("an unknown tool")
async def unknown_tool(rig: Rig) -> None:
    rig.wire.play(Answer((Call("invent", "{}"),)), DONE)
    rig.talk.prompt()
    assert _shown(await rig.talk.ask()) == [("invent", {})]
    rig.talk.settle(Outcome(output="There is no such tool.", error=True))
    await rig.talk.ask()


@row("a picture in a prompt")
async def picture_in_a_prompt(rig: Rig) -> None:
    await _show(rig, ImagePiece(url=_url("image/png", PNG)))


@row("a PDF in a prompt")
async def document_in_a_prompt(rig: Rig) -> None:
    await _show(rig, FilePiece(name="a.pdf", url=_url("application/pdf", PDF)))


@row("a picture in a result")
async def picture_in_a_result(rig: Rig) -> None:
    await _attach(rig, "image/png", PNG)


@row("a PDF in a result")
async def document_in_a_result(rig: Rig) -> None:
    await _attach(rig, "application/pdf", PDF)


async def _show(rig: Rig, piece: ImagePiece | FilePiece) -> None:
    rig.wire.play(DONE)
    await collect_answer(rig.port, rig.wire.request((UserInput(content=(TextPiece(text="Look:"), piece)),)))
    assert piece.url.partition(",")[2] in rig.talk.sent


async def _attach(rig: Rig, kind: str, content: str) -> None:
    """To each of two results."""
    rig.wire.play(TWO, DONE)
    rig.talk.prompt()
    await rig.talk.ask()
    rig.talk.settle(Outcome(output="Read.", attachments=({"mime": kind, "url": _url(kind, content)},)))
    await rig.talk.ask()
    assert rig.talk.sent.count(content) == 2


@row("a steered prompt")
async def steered(rig: Rig) -> None:
    rig.wire.play(TWO, DONE)
    rig.talk.prompt()
    await rig.talk.ask()
    rig.talk.settle(Outcome(output="x"))
    rig.talk.prompt("also b", step=2)
    await rig.talk.ask()
    assert "also b" in rig.talk.sent and "system-reminder" in rig.talk.sent


@row("a stop after tools, and a new prompt")
async def stopped(rig: Rig) -> None:
    rig.wire.play(TWO, DONE)
    rig.talk.prompt()
    await rig.talk.ask()
    rig.talk.prompt("something else")
    await rig.talk.ask()
    assert "interrupted" in rig.talk.sent


@row("the last step, without tools")
async def last_step(rig: Rig) -> None:
    """A model that calls tools all the same is asked once more."""
    rig.wire.play(TWO, Answer((READ,)), DONE)
    rig.talk.prompt()
    await rig.talk.ask()
    rig.talk.settle(Outcome(output="x"))
    await rig.talk.ask(last_step=True)
    rig.talk.settle(Outcome(output="No steps are left.", error=True))
    assert _shown(await rig.talk.ask(last_step=True, again=True)) == ["Done."]
    before, last, again = (json.dumps(body.get("tools", body.get("toolConfig"))) for body in rig.wire.double.asked)
    assert before == last == again and READ.name in last


@row("a turn of 100 steps: each request extends the one before, and is cached")
async def long_turn(rig: Rig) -> None:
    await _extend(rig, Sizes())


@row("the same with thoughts, where there are any, and in the next turn")
async def long_turns(rig: Rig) -> None:
    await _extend(rig, Sizes(turns=(20, 10), thought=60 if rig.wire.thinks else 0))


async def _extend(rig: Rig, sizes: Sizes) -> None:
    billing = rig.wire.bill()
    billed = await play_long_turns(rig.talk, sizes)
    check_extension(rig.wire.double.received)
    assert not billing or least_cached_share(billed) >= 0.95


@row("a turn that a model of each other wire began")
async def switched(rig: Rig) -> None:
    for other in rig.others:
        thought = (Thought("Hm."),) if other.thinks else ()
        other.play(Answer((*thought, *TWO.output)))
        async with serve_double(other.double):
            begun = Conversation(rig.port, other)
            begun.prompt()
            await begun.ask(options=other.thinking)
            begun.settle(Outcome(output="x"))
        rig.wire.play(Answer((READ,)), DONE)
        went_on = Conversation(rig.port, rig.wire, begun.transcript)
        await went_on.ask(options=rig.wire.thinking)
        went_on.settle(Outcome(output="y"))
        assert _shown(await went_on.ask(options=rig.wire.thinking)) == ["Done."]
        assert not thought or "Hm." in went_on.sent


@row("the limit of the output")
async def length(rig: Rig) -> None:
    assert await _flaw(rig, Answer((Text("Half an"),), End.LENGTH)) is None
    assert await _flaw(rig, Answer((), End.LENGTH)) is StepFlaw.CUT


@row("a refusal")
async def refusal(rig: Rig) -> None:
    assert await _flaw(rig, Answer((), End.REFUSAL)) is StepFlaw.BLOCKED


@row("a content filter")
async def content_filter(rig: Rig) -> None:
    assert await _flaw(rig, Answer((Text("Half an"),), End.FILTER)) is StepFlaw.BLOCKED


@row("a full context window in the answer")
async def window(rig: Rig) -> None:
    rig.wire.play(Answer((Text("Half an"),), End.WINDOW))
    with pytest.raises(ModelError) as caught:
        await collect_answer(rig.port, rig.wire.request())
    assert isinstance(classify(caught.value.failure), Overflow)


@row("a malformed call")
async def malformed(rig: Rig) -> None:
    if End.MALFORMED in rig.wire.ends:
        assert await _flaw(rig, Answer((), End.MALFORMED)) is StepFlaw.EMPTY
        return
    rig.wire.play(Answer((Call("read", '{"path": "a'),)))
    answer = await collect_answer(rig.port, rig.wire.request())
    assert [call.arguments for call in answer.calls] == ['{"path": "a']


@row("an empty answer")
async def empty(rig: Rig) -> None:
    assert await _flaw(rig, Answer(())) is StepFlaw.EMPTY


async def _flaw(rig: Rig, answer: Answer) -> StepFlaw | None:
    rig.wire.play(answer)
    got = await collect_answer(rig.port, rig.wire.request())
    texts = any(isinstance(part, TextPart) for part in got.parts)
    return find_flaw(got.finish, text=texts, calls=bool(got.calls))


@row("a cut after every piece, and within it")
async def cut(rig: Rig) -> None:
    """An answer is whole, or asked for again."""
    thought = (Thought("Look."),) if rig.wire.thinks else ()
    script = Answer((*thought, Text("Both:"), READ, READ))
    rig.wire.play(script)
    asked = replace(rig.wire.request(GO), options=rig.wire.thinking)
    whole = _shown(await collect_answer(rig.port, asked))
    for place in range(rig.wire.double.played):
        rig.wire.double.cut = place
        try:
            assert _shown(await collect_answer(rig.port, asked)) == whole
        except ModelError as error:
            assert isinstance(classify(error.failure), Retry)
            continue
        assert place >= rig.wire.double.played - 3, "only behind the end of the answer"


def _shown(answer: Assembled) -> list[Any]:
    """Texts and calls, without their ids."""
    return [
        part.text if isinstance(part, TextPart) else (part.name, json.loads(part.arguments or "{}"))
        for part in answer.parts
        if isinstance(part, TextPart | RequestedCall)
    ]


def _secrets(value: Any, name: str = "") -> Iterator[str]:
    """What only the provider understands."""
    match value:
        case dict():
            for key, inner in value.items():
                yield from _secrets(inner, key)
        case str() if name in ("signature", "data", "encrypted_content", "thoughtSignature", "redactedContent"):
            yield value


def _url(kind: str, content: str) -> str:
    return f"data:{kind};base64,{content}"
