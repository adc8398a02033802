"""Bedrock, Mistral and Ollama by litellm's wire, against doubles that check as the services do."""

import json
import os
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final

import pytest

from activities.model.failures import FailureAction, ModelError, Retry, Stop, classify
from activities.model.port import Finish
from activities.model.stream import Answer as Received
from activities.model.wires.router import WireRouter
from activities.model.wires.timeouts import StreamTimeouts
from tests.providers.bedrock_converse import ACCESS_KEY, LLAMA
from tests.providers.double_conversations import PDF, PNG, Conversation, answered, attached, tool_part
from tests.providers.double_outputs import Answer, Call, Output, Text, Thought
from tests.providers.litellm_services import BEDROCK, MISTRAL, OLLAMA, SERVICES, Expected, Service, Spoken, asked
from tests.providers.ollama_chat import Ollama
from tests.providers.provider_double import Disconnect, StreamPause, StreamPlan, serve_double
from workflows.domain.messages import Outcome, ReasoningPart, RequestedCall, TextPart
from workflows.domain.usage import Tokens

pytestmark = [  # litellm ignores both, in filters that pytest replaces
    pytest.mark.filterwarnings("ignore:Accessing the .* attribute on the instance:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*`ReadOnly` qualifier:UserWarning"),
    pytest.mark.usefixtures("credentials"),
]
EACH: Final = pytest.mark.parametrize("spoken", SERVICES, ids=lambda spoken: spoken.name)
DONE: Final = Answer((Text("Done."),))
READS: Final = Answer((Text("I read."), Call("read", '{"path": "a"}'), Call("read", '{"path": "b"}')))
THINKS: Final = Answer((Thought("First the file."), Text("I read."), Call("read", '{"path": "a"}')))
TOKENS: Final = {
    "bedrock": Tokens(total=125, input=10, output=15, cache_read=80, cache_write=20),
    "mistral": Tokens(total=130, input=100, output=30),
    "ollama": Tokens(total=130, input=100, output=30),
}


@pytest.fixture
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person's AWS credentials."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_REGION_NAME", "us-east-1")


def talk(port: WireRouter, spoken: Spoken, service: Service, **more: Any) -> Conversation:
    return Conversation(port, more.pop("model", spoken.model), service.double.url, spoken.key, **more)


@EACH
async def test_text(port: WireRouter, spoken: Spoken) -> None:
    service = spoken.serve(Answer((Text("Grün: ✅"),)))
    async with serve_double(service.double):
        answer = await talk(port, spoken, service).ask()

    assert answer.parts == (TextPart(text="Grün: ✅"),)
    assert (answer.finish, answer.tokens) == (Finish.STOP, TOKENS[spoken.name])
    assert answer.reported_cost is None, "litellm's guess goes for the provider's word"


@EACH
async def test_reasoning_comes_and_goes_back_unchanged(port: WireRouter, spoken: Spoken) -> None:
    service = spoken.serve(THINKS, DONE)
    async with serve_double(service.double):
        conversation = talk(port, spoken, service, options=spoken.thinking)
        first, last = await conversation.ask(), await conversation.ask()

    thought, said, call = first.parts
    assert isinstance(thought, ReasoningPart) and isinstance(call, RequestedCall)
    assert (thought.text, said) == ("First the file.", TextPart(text="I read."))
    assert (call.name, json.loads(call.arguments), first.finish) == ("read", {"path": "a"}, Finish.TOOL_CALLS)
    assert last.parts == (TextPart(text="Done."),)


@pytest.mark.parametrize(
    "output",
    [
        (Thought("First."), Thought(redacted=True), Call("read", '{"path": "a"}')),
        (Thought("First."), Call("read", '{"path": "a"}'), Thought("Then."), Call("read", '{"path": "b"}')),
    ],
)
async def test_reasoning_that_litellm_does_not_give_back_ends_no_turn(
    port: WireRouter, output: Sequence[Output]
) -> None:
    service = BEDROCK.serve(Answer(output), READS, DONE, DONE)
    async with serve_double(service.double):
        conversation = talk(port, BEDROCK, service, options=BEDROCK.thinking)
        for _ in range(3):
            await conversation.ask()
        conversation.say("Go on.")
        assert (await conversation.ask()).parts == (TextPart(text="Done."),)

    assert thinks(service) == [True, False, False, True]


@pytest.mark.parametrize("options", [BEDROCK.thinking, {"reasoning_effort": "high"}])
@pytest.mark.parametrize("before", [(), (Thought(redacted=True),)])
async def test_a_turn_thinks_on_after_an_answer_whose_thoughts_do_not_come_back(
    port: WireRouter, options: dict[str, Any], before: Sequence[Output]
) -> None:
    service = BEDROCK.serve(THINKS, Answer((*before, Call("read", '{"path": "b"}'))), DONE)
    async with serve_double(service.double):
        conversation = talk(port, BEDROCK, service, options=options)
        for _ in range(2):
            await conversation.ask()
        assert (await conversation.ask()).parts == (TextPart(text="Done."),)

    assert thinks(service) == [True, True, True]


async def test_an_effort_is_a_budget_that_calls_without_thoughts_rule_out(port: WireRouter) -> None:
    service = BEDROCK.serve(READS, DONE)
    async with serve_double(service.double):
        conversation = talk(port, BEDROCK, service, options={"reasoning_effort": "high"})
        await conversation.ask()
        assert (await conversation.ask()).parts == (TextPart(text="Done."),)

    assert thinks(service) == [True, False]


@EACH
async def test_calls_of_another_model_end_no_turn_of_one_that_thinks(port: WireRouter, spoken: Spoken) -> None:
    call = tool_part(RequestedCall("call_1", "read", "{}"), Outcome(output="x"))
    service = spoken.serve(DONE)
    async with serve_double(service.double):
        conversation = talk(port, spoken, service, options=spoken.thinking)
        conversation.transcript.append(answered((call,), "other/model"))
        assert (await conversation.ask()).parts == (TextPart(text="Done."),)


@EACH
async def test_parallel_calls_keep_apart(port: WireRouter, spoken: Spoken) -> None:
    service = spoken.serve(READS, DONE)
    async with serve_double(service.double):
        conversation = talk(port, spoken, service)
        first, last = await conversation.ask(), await conversation.ask()

    assert [json.loads(call.arguments) for call in first.calls] == [{"path": "a"}, {"path": "b"}]
    assert len({call.id for call in first.calls}) == 2
    assert last.parts == (TextPart(text="Done."),)


@EACH
@pytest.mark.parametrize(
    "calls",
    [
        (Call("ls"),),
        (Call("ls"), Call("ls")),
        (Call("read", '{"path": "a"}'), Call("ls"), Call("pwd")),
        (Call("ls"), Call("read", '{"path": "a"}')),
    ],
)
async def test_calls_without_arguments(port: WireRouter, spoken: Spoken, calls: Sequence[Call]) -> None:
    service = spoken.serve(Answer(calls), DONE)
    async with serve_double(service.double):
        conversation = talk(port, spoken, service)
        first, last = await conversation.ask(), await conversation.ask()

    got = [(call.name, json.loads(call.arguments or "{}")) for call in first.calls]
    assert got == [(call.name, json.loads(call.arguments)) for call in calls]
    assert last.parts == (TextPart(text="Done."),)


@EACH
@pytest.mark.parametrize("outcome", [Outcome(output=""), Outcome(output="No such file.", error=True)])
async def test_any_result_is_taken(port: WireRouter, spoken: Spoken, outcome: Outcome) -> None:
    service = spoken.serve(READS, DONE)
    async with serve_double(service.double):
        conversation = talk(port, spoken, service, outcome=outcome)
        await conversation.ask()
        assert (await conversation.ask()).parts == (TextPart(text="Done."),)


@EACH
async def test_a_picture_in_a_result(port: WireRouter, spoken: Spoken) -> None:
    model = "ollama_chat/llava" if spoken is OLLAMA else spoken.model
    service = spoken.serve(READS, DONE)
    async with serve_double(service.double):
        conversation = talk(port, spoken, service, model=model, outcome=attached("image/png", PNG))
        await conversation.ask()
        assert (await conversation.ask()).parts == (TextPart(text="Done."),)

    assert PNG.partition(",")[2] in str(asked(service)[-1])


async def test_a_document_in_a_result(port: WireRouter) -> None:
    service = BEDROCK.serve(Answer((Call("read", '{"path": "a"}'),)), DONE)
    async with serve_double(service.double):
        conversation = talk(port, BEDROCK, service, outcome=attached("application/pdf", PDF))
        await conversation.ask()
        assert (await conversation.ask()).parts == (TextPart(text="Done."),)

    assert PDF.partition(",")[2] in str(asked(service)[-1])


@EACH
async def test_a_prompt_that_comes_during_the_turn(port: WireRouter, spoken: Spoken) -> None:
    service = spoken.serve(READS, DONE)
    async with serve_double(service.double):
        conversation = talk(port, spoken, service)
        await conversation.ask()
        conversation.say("Only a.", steered=True)
        assert (await conversation.ask()).parts == (TextPart(text="Done."),)

    assert "Only a." in str(asked(service)[-1])


@EACH
async def test_a_stop_after_calls(port: WireRouter, spoken: Spoken) -> None:
    service = spoken.serve(READS, DONE)
    async with serve_double(service.double):
        conversation = talk(port, spoken, service, outcome=None)
        await conversation.ask()
        conversation.say("Go on.")
        assert (await conversation.ask()).parts == (TextPart(text="Done."),)


@EACH
async def test_the_last_step_keeps_its_tools(port: WireRouter, spoken: Spoken) -> None:
    service = spoken.serve(READS, DONE)
    async with serve_double(service.double):
        conversation = talk(port, spoken, service)
        await conversation.ask()
        assert (await conversation.ask(text_only=True)).parts == (TextPart(text="Done."),)

    first, last = asked(service)
    tools = "toolConfig" if spoken is BEDROCK else "tools"
    assert first[tools] == last[tools]
    assert last.get("tool_choice") == ("none" if spoken is MISTRAL else None)


@EACH
@pytest.mark.parametrize("id", ["call_1", "toolu_01AbCdEf", "call_x__thought__c2ln+1/==", "c" * 100, "abcdefgh1", "é"])
async def test_a_conversation_that_another_model_began(port: WireRouter, spoken: Spoken, id: str) -> None:
    signed = ReasoningPart(text="Hm.", details=({"type": "thinking", "thinking": "Hm.", "signature": "of another"},))
    calls = [tool_part(RequestedCall(f"{id}{n}"[-100:], "read", "{}"), Outcome(output="x")) for n in ("", "2")]
    service = spoken.serve(DONE)
    async with serve_double(service.double):
        conversation = talk(port, spoken, service)
        conversation.transcript.append(answered((signed, TextPart(text="I read."), *calls), "other/model"))
        assert (await conversation.ask()).parts == (TextPart(text="Done."),)


async def test_ollama_is_asked_for_answers_only_and_reads_all_that_it_is_sent(port: WireRouter) -> None:
    service = Ollama(READS, DONE)
    async with serve_double(service.double):
        conversation = talk(port, OLLAMA, service, model="ollama_chat/qwen3")
        await conversation.ask()
        await conversation.ask()

    assert service.double.paths == ["/api/chat", "/api/chat"]
    assert service.ignored == set()


@EACH
async def test_each_request_extends_the_one_before(port: WireRouter, spoken: Spoken) -> None:
    service = spoken.serve(READS, DONE, READS, DONE)
    async with serve_double(service.double):
        conversation = talk(port, spoken, service)
        await conversation.ask()
        await conversation.ask()
        conversation.say("And now?")
        await conversation.ask()
        await conversation.ask()

    sent = [without_marks(body["messages"]) for body in asked(service)]
    for before, after in zip(sent, sent[1:], strict=False):
        assert after[: len(before)] == before


def without_marks(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Where the cache is marked moves."""
    return [
        {**message, "content": [block for block in message["content"] if "cachePoint" not in block]}
        if isinstance(message.get("content"), list)
        else message
        for message in messages
    ]


ENDS: Final = [(spoken, reason) for spoken in SERVICES for reason in spoken.ends]


@pytest.mark.parametrize(("spoken", "reason"), ENDS, ids=lambda value: getattr(value, "name", value))
async def test_the_end_is_that_of_the_service(port: WireRouter, spoken: Spoken, reason: str) -> None:
    service = spoken.serve(Answer((Text("Hi"),), stop_reason=reason))
    async with serve_double(service.double):
        ended = await outcome_of(talk(port, spoken, service))

    expected = spoken.ends[reason]
    assert (ended.finish if isinstance(ended, Received) else kind_of(ended)) is expected


@EACH
@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("place", range(12))
async def test_an_answer_that_is_cut_anywhere_is_asked_for_again(
    port: WireRouter, spoken: Spoken, clean: bool, place: int
) -> None:
    """Behind the end of the answer, nothing is missing."""
    service = spoken.serve(THINKS)
    whole = service.double.check

    def check(*request: Any) -> StreamPlan:
        pieces = [piece for piece in whole(*request) if isinstance(piece, bytes)]
        kept = pieces[: place + 1]
        return [*kept[:-1], kept[-1][: len(kept[-1]) // 2], Disconnect(clean)]

    service.double.check = check
    async with serve_double(service.double):
        ended = await outcome_of(talk(port, spoken, service))

    if isinstance(ended, Received):
        assert ended.finish is Finish.TOOL_CALLS and len(ended.calls) == 1
    else:
        assert isinstance(ended, Retry)


BROKEN: Final = [(spoken, name) for spoken in SERVICES for name in spoken.broken]


@pytest.mark.parametrize(("spoken", "name"), BROKEN, ids=lambda value: getattr(value, "name", value))
@pytest.mark.parametrize("before", [(), (Text("Half"),)])
async def test_a_failure_in_the_middle_is_tried_again(
    port: WireRouter, spoken: Spoken, name: str, before: Sequence[Output]
) -> None:
    service = spoken.serve(Answer((*before, spoken.broken[name], Disconnect())))
    async with serve_double(service.double):
        assert isinstance(await outcome_of(talk(port, spoken, service)), Retry)


FAILURES: Final = [(spoken, name) for spoken in SERVICES for name in spoken.failures]


@pytest.mark.parametrize(("spoken", "name"), FAILURES, ids=lambda value: getattr(value, "name", value))
async def test_a_failure_is_classified(port: WireRouter, spoken: Spoken, name: str) -> None:
    refusal, expected = spoken.failures[name]
    service = spoken.serve(DONE)

    def refuse(*_: object) -> Any:
        raise refusal

    service.double.check = refuse
    async with serve_double(service.double):
        action = await outcome_of(talk(port, spoken, service))

    assert not isinstance(action, Received) and kind_of(action) == expected
    assert len(asked(service)) == 1, "litellm asked again by itself"


@pytest.fixture
async def impatient() -> AsyncIterator[WireRouter]:
    port = WireRouter(os.environ, timeouts=StreamTimeouts(1, 1, 1))
    await port.warm()
    yield port
    await port.close()


@EACH
async def test_silence_is_cut(impatient: WireRouter, spoken: Spoken) -> None:
    service = spoken.serve(Answer((Text("Half"), StreamPause(60), Text("more"))))
    async with serve_double(service.double):
        assert isinstance(await outcome_of(talk(impatient, spoken, service)), Retry)


async def test_a_prompt_after_calls_with_a_model_of_bedrocks_that_wants_them_apart(port: WireRouter) -> None:
    service = BEDROCK.serve(READS, DONE)
    async with serve_double(service.double):
        conversation = talk(port, BEDROCK, service, model=f"bedrock/{LLAMA}")
        await conversation.ask()
        conversation.say("Only a.", steered=True)
        assert (await conversation.ask()).parts == (TextPart(text="Done."),)


def thinks(service: Service) -> list[bool]:
    """Of each request to Bedrock, whether the model is to think."""
    return ["thinking" in body.get("additionalModelRequestFields", {}) for body in asked(service)]


async def outcome_of(conversation: Conversation) -> Received | FailureAction:
    """The answer, or what is to be done about the failure."""
    try:
        return await conversation.ask()
    except ModelError as error:
        return classify(error.failure)


def kind_of(action: FailureAction) -> Expected:
    return action.kind if isinstance(action, Stop) else type(action)
