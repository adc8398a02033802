"""Bedrock's Converse by our own wire, against a double that checks as the service does."""

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pytest

from activities.credentials.keys import Keys
from activities.model.endpoint import Endpoint, Wire
from activities.model.endpoints import EndpointResolver
from activities.model.failures import FailureAction, Overflow, Retry, Stop, StopKind, classify
from activities.model.model_options import spell
from activities.model.port import AssistantInput, FilePiece, Finish, ModelRequest, TextPiece, ToolResultInput, UserInput
from activities.model.tool_schemas import rules_for
from activities.model.wires.bedrock_request import prepare
from activities.model.wires.router import WireRouter
from tests.providers import bedrock_converse as service
from tests.providers.behaviours.bedrock_wire import BedrockWire
from tests.providers.behaviours.conversation import Conversation
from tests.providers.double_conversations import answered, tool_part
from tests.providers.double_outputs import Answer, Call, Output, Text, Thought
from tests.providers.double_requests import GO, READ, collect_answer
from tests.providers.event_stream_frames import KIND, event_frame, exception_frame
from tests.providers.provider_double import ProviderDouble, RefusedRequest, serve_double
from tests.providers.service_shapes import service_model, violations
from workflows.domain.config.config import Config
from workflows.domain.errors import ModelError
from workflows.domain.messages import Outcome, ReasoningPart, RequestedCall, TextPart
from workflows.domain.usage import Price, Tokens

DONE: Final = Answer((Text("Done."),))
READS: Final = Answer((Text("I read."), Call("read", '{"path": "a"}'), Call("read", '{"path": "b"}')))
THINKS: Final = Answer((Thought("First the file."), Text("I read."), Call("read", '{"path": "a"}')))
BUDGET: Final = {"thinking": {"type": "enabled", "budget_tokens": 2048}}
NOVA: Final = f"bedrock/{service.NOVA}"
LLAMA: Final = f"bedrock/{service.LLAMA}"


class Talk(Conversation):
    """A session with a model of the double's, which gives `answers`; calls are done at once."""

    def __init__(self, port: WireRouter, *answers: Answer, model: str = BedrockWire.model) -> None:
        wire = BedrockWire()
        wire.model = model  # type: ignore[misc]  # of this instance
        wire.service.answers = list(answers)
        super().__init__(port, wire)
        self.prompt()

    @property
    def double(self) -> ProviderDouble:
        return self.wire.double

    async def steps(self, count: int, outcome: Outcome | None = None, **more: Any) -> list[Any]:
        """So many steps, and their parts; `more`: members of `ModelRequest`."""
        found = []
        for _ in range(count):
            found.append((await self.ask(**more)).parts)
            self.settle(outcome or Outcome(output="x"))
        return found


async def failed(port: WireRouter, answers: Answer, refusal: RefusedRequest | None = None) -> FailureAction:
    """What follows from a failure."""
    talk = Talk(port, answers)
    if refusal:

        def refuse(*_: object) -> Any:
            raise refusal

        talk.double.check = refuse
    async with serve_double(talk.double):
        with pytest.raises(ModelError) as caught:
            await talk.ask()
    assert len(talk.double.asked) == 1, "a wire asked again by itself"
    return classify(caught.value.failure)


def kind_of(action: FailureAction) -> type[FailureAction] | StopKind:
    return action.kind if isinstance(action, Stop) else type(action)


async def test_usage_counts_what_was_cached(port: WireRouter) -> None:
    talk = Talk(port, DONE)
    async with serve_double(talk.double):
        answer = await talk.ask()

    assert answer.tokens == Tokens(total=125, input=10, output=15, cache_read=80, cache_write=20)
    assert answer.reported_cost is None


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("end_turn", Finish.STOP),
        ("stop_sequence", Finish.STOP),
        ("max_tokens", Finish.LENGTH),
        ("content_filtered", Finish.CONTENT_FILTER),
        ("guardrail_intervened", Finish.CONTENT_FILTER),
        ("malformed_model_output", Finish.UNKNOWN),
        ("malformed_tool_use", Finish.UNKNOWN),
    ],
)
async def test_the_end_is_that_of_the_service(port: WireRouter, reason: str, finish: Finish) -> None:
    talk = Talk(port, Answer((Text("Hi"),), stop_reason=reason))
    async with serve_double(talk.double):
        answer = await talk.ask()
    explained = finish in (Finish.CONTENT_FILTER, Finish.UNKNOWN)
    assert (answer.finish, answer.explanation) == (finish, reason if explained else "")


def test_every_end_of_the_service_is_known() -> None:
    ends = service_model("bedrock-runtime").shape_for("StopReason").enum
    marks = test_the_end_is_that_of_the_service.pytestmark  # type: ignore[attr-defined]
    tested = {reason for reason, _ in marks[0].args[1]}
    assert set(ends) == {*tested, "tool_use", "model_context_window_exceeded"}, "the table of behaviours has these"


@pytest.mark.parametrize(
    ("status", "code", "message", "expected"),
    [
        (429, "ThrottlingException", "Too many tokens, please wait before trying again.", Retry),
        (429, "ModelNotReadyException", "The model is not ready for inference.", Retry),
        (408, "ModelTimeoutException", "Model has timed out in processing the request.", Retry),
        (424, "ModelErrorException", "The model failed.", Retry),
        (500, "InternalServerException", "The system met an error.", Retry),
        (503, "ServiceUnavailableException", "Bedrock is unable to process it.", Retry),
        (403, "AccessDeniedException", "You don't have access to the model.", StopKind.AUTH),
        (403, "ExpiredTokenException", "The security token included in the request is expired", StopKind.AUTH),
        (404, "ResourceNotFoundException", "The model is not found.", StopKind.NOT_FOUND),
        (400, "ServiceQuotaExceededException", "Your request exceeds a quota.", StopKind.QUOTA),
        (400, "ValidationException", "The provided model identifier is invalid.", StopKind.BAD_REQUEST),
        (400, "ValidationException", "Input is too long for requested model.", Overflow),
        (
            *(400, "ValidationException"),
            "The model returned the following errors: prompt is too long: 201000 tokens > 200000 maximum",
            Overflow,
        ),
    ],
)
async def test_a_refusal_is_classified(
    port: WireRouter, status: int, code: str, message: str, expected: type[FailureAction] | StopKind
) -> None:
    assert kind_of(await failed(port, DONE, service.refused(status, code, message))) == expected


@pytest.mark.parametrize("before", [(), (Text("Half"),)])
@pytest.mark.parametrize(
    ("name", "message", "expected"),
    [
        ("throttlingException", "Too many tokens, please wait before trying again.", Retry),
        ("modelStreamErrorException", "An error occurred in the model.", Retry),
        ("internalServerException", "The system met an error.", Retry),
        ("serviceUnavailableException", "Bedrock is unable to process it.", Retry),
        ("validationException", "Input is too long for requested model.", Overflow),
        ("validationException", "The model returned the following errors: no.", StopKind.BAD_REQUEST),
    ],
)
async def test_a_failure_in_the_middle_is_classified(
    port: WireRouter, before: Sequence[Output], name: str, message: str, expected: type[FailureAction] | StopKind
) -> None:
    frame = exception_frame(name, {"message": message})
    assert kind_of(await failed(port, Answer((*before, frame)))) == expected


@pytest.mark.parametrize(
    ("status", "message", "expected"),
    [
        (400, "messages.3: wrong", StopKind.BAD_REQUEST),
        (400, "prompt is too long: 201000 tokens > 200000 maximum", Overflow),
        (404, "no such model", StopKind.NOT_FOUND),
        (429, "slow down", Retry),
        (500, "broken", Retry),
        (200, "broken", Retry),
    ],
)
async def test_the_answer_of_the_model_behind_the_service_counts(
    port: WireRouter, status: int, message: str, expected: type[FailureAction] | StopKind
) -> None:
    text = "An error occurred in the model."
    details = {"message": text, "originalStatusCode": status, "originalMessage": message}
    shape = service_model("bedrock-runtime").shape_for("ModelStreamErrorException")
    assert list(violations(shape, details)) == []

    action = await failed(port, Answer((Text("Half"), exception_frame("modelStreamErrorException", details))))

    assert kind_of(action) == expected
    assert (action.reason if isinstance(action, Retry) else action.message) == f"{text} ({message})"


async def test_a_refusal_of_the_gateway_shows_its_words(port: WireRouter) -> None:
    """IAM's have a capital letter."""
    words = "User: arn:aws:iam::1:user/me is not authorized to perform: bedrock:InvokeModelWithResponseStream"
    action = await failed(port, DONE, RefusedRequest(403, {"Message": words}))

    assert action == Stop(kind=StopKind.AUTH, message=words)


@pytest.mark.parametrize("piece", ["whole", "half"])
async def test_an_answer_that_ends_before_its_tokens_is_whole_and_of_unknown_cost(port: WireRouter, piece: str) -> None:
    """The service's model names no order, and gateways leave the last event out: asking again would cost all again."""
    talk = Talk(port, DONE)
    async with serve_double(talk.double):
        await talk.ask()
        talk.double.cut = talk.double.played - 1
        if piece == "whole":
            check = talk.double.check
            talk.double.cut, talk.double.check = None, lambda *asked: list(check(*asked))[:-1]
        answer = await collect_answer(port, talk.wire.request())

    assert answer.parts == (TextPart(text="Done."),) and answer.finish is Finish.STOP
    assert answer.cost(Price(input=Decimal(3), output=Decimal(15))) is None


async def test_a_frame_that_is_damaged_is_no_piece_of_an_answer(port: WireRouter) -> None:
    frame = event_frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "x"}})
    action = await failed(port, Answer((Text("Half"), frame[:-1] + bytes([frame[-1] ^ 1]))))
    assert isinstance(action, Retry) and "Checksum" in action.reason


@pytest.mark.parametrize(
    "output",
    [
        (Thought("First."), Thought(redacted=True), Call("read", '{"path": "a"}')),
        (Thought("First."), Call("read", '{"path": "a"}'), Thought("Then."), Call("read", '{"path": "b"}')),
        (Thought(redacted=True), Text("I read."), Call("read", '{"path": "a"}')),
    ],
)
async def test_thoughts_come_back_in_place_and_unchanged(port: WireRouter, output: Sequence[Output]) -> None:
    talk = Talk(port, Answer(output), READS, DONE, DONE)
    async with serve_double(talk.double):
        await talk.steps(3, options=BUDGET)
        talk.prompt("Go on.")
        assert (await talk.ask(options=BUDGET)).parts == (TextPart(text="Done."),)

    assert thinks(talk.double) == [True, True, True, True]
    sent = talk.double.asked[1]["messages"][1]["content"]
    kinds = {Thought: "reasoningContent", Text: "text", Call: "toolUse"}
    assert [next(iter(block)) for block in sent if "cachePoint" not in block] == [kinds[type(each)] for each in output]


@pytest.mark.parametrize("options", [BUDGET, {"reasoning_effort": "high"}])
async def test_a_turn_thinks_on_after_an_answer_without_thoughts(port: WireRouter, options: Mapping[str, Any]) -> None:
    talk = Talk(port, THINKS, Answer((Call("read", '{"path": "b"}'),)), DONE)
    async with serve_double(talk.double):
        assert (await talk.steps(3, options=options))[-1] == (TextPart(text="Done."),)

    assert thinks(talk.double) == [True, True, True]


@pytest.mark.parametrize("options", [BUDGET, {"reasoning_effort": "high"}])
async def test_a_turn_that_began_without_a_thought_goes_on_without(
    port: WireRouter, options: Mapping[str, Any]
) -> None:
    talk = Talk(port, READS, DONE)
    async with serve_double(talk.double):
        assert (await talk.steps(2, options=options))[-1] == (TextPart(text="Done."),)

    assert thinks(talk.double) == [True, False]


async def test_a_model_that_no_longer_thinks_gets_no_thoughts_of_the_turn(port: WireRouter) -> None:
    talk = Talk(port, THINKS, DONE)
    async with serve_double(talk.double):
        await talk.steps(1, options=BUDGET)
        assert (await talk.ask()).parts == (TextPart(text="Done."),)


async def test_an_inference_profile_has_the_forms_of_the_model_that_its_entry_is_named_by(
    port: WireRouter, tmp_path: Path
) -> None:
    bedrock = service.Bedrock(THINKS, DONE)
    async with serve_double(bedrock.double) as double:
        options = {"endpoint": double.url, "region": "us-east-1", "apiKey": service.API_KEY}
        written = {"options": options, "models": {service.CLAUDE: {"id": service.PROFILE}}}
        config = Config.model_validate({"provider": {"amazon-bedrock": written}})
        resolver = EndpointResolver(Keys(tmp_path / "auth.json"), {}, port)
        model = await resolver.resolve(f"amazon-bedrock/{service.CLAUDE}", config, variant="high")
        answer = await collect_answer(port, model.request(GO, (READ,)))
        result = ToolResultInput(call=answer.calls[0].id, content="No such file.", failed=True)
        await collect_answer(port, model.request((*GO, AssistantInput(parts=answer.parts), result), (READ,)))

    assert thinks(double) == [True, True] and "cachePoint" in json.dumps(double.asked[0])
    assert '"status": "error"' in json.dumps(double.asked[1])
    assert model.price and model.facts.context == 200_000
    assert rules_for(model.endpoint).names, "Claude's rules for schemas"


def thinks(double: ProviderDouble) -> list[bool]:
    """Of each request, whether the model is to think."""
    return ["thinking" in body.get("additionalModelRequestFields", {}) for body in double.asked]


@pytest.mark.parametrize("model", [LLAMA, NOVA])
async def test_a_prompt_after_calls_with_models_that_take_less(port: WireRouter, model: str) -> None:
    talk = Talk(port, READS, DONE, model=model)
    async with serve_double(talk.double):
        await talk.steps(1, Outcome(output="No such file.", error=True))
        talk.prompt("Only a.", step=2)
        assert (await talk.ask()).parts == (TextPart(text="Done."),)

    marks = json.dumps(talk.double.asked[-1]).count("cachePoint")
    statuses = json.dumps(talk.double.asked[-1]).count('"status": "error"')
    assert (marks, statuses) == ((0, 0) if model == LLAMA else (3, 2))


@pytest.mark.parametrize("id", ["call_1", "toolu_01AbCdEf", "call_x__thought__c2ln+1/==", "c" * 100, "abcdefgh1", "é"])
@pytest.mark.parametrize("model", [BedrockWire.model, NOVA, LLAMA])
async def test_a_conversation_that_another_model_began(port: WireRouter, id: str, model: str) -> None:
    signed = ReasoningPart(text="Hm.", details=({"type": "thinking", "thinking": "Hm.", "signature": "of another"},))
    calls = [
        tool_part(RequestedCall(f"{id}{n}"[-100:], name, "{}"), Outcome(output=""))
        for n, name in (("", "read"), ("2", "invented by it!"))
    ]
    talk = Talk(port, DONE, model=model)
    talk.transcript.append(answered((signed, TextPart(text="I read."), *calls), "other/model"))
    async with serve_double(talk.double):
        assert (await talk.ask()).parts == (TextPart(text="Done."),)


async def test_a_request_without_tools_names_those_that_were_called(port: WireRouter) -> None:
    talk = Talk(port, READS, DONE)
    async with serve_double(talk.double):
        await talk.steps(1)
        await talk.ask(tools=())

    (tool,) = talk.double.asked[-1]["toolConfig"]["tools"]
    assert tool["toolSpec"]["name"] == "read"


async def test_a_document_alone_and_with_any_name(port: WireRouter) -> None:
    talk = Talk(port, DONE)
    shown = UserInput(content=(FilePiece(name="Ünter  lagen_(2).v1.pdf", url="data:application/pdf;base64,JVBERi0="),))
    async with serve_double(talk.double):
        await collect_answer(port, talk.wire.request((shown,)))

    text, document = talk.double.asked[0]["messages"][0]["content"][:2]
    assert text["text"] and document["document"]["name"] == "nter lagen (2) v1"


def body_of(model: str, options: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """The members of a request besides its messages."""
    endpoint = Endpoint(model=f"bedrock/{model}", wire=Wire.BEDROCK)
    request = ModelRequest(endpoint=endpoint, messages=GO, tools=(READ,), options=spell(options, Wire.BEDROCK), **more)
    body: dict[str, Any] = json.loads(prepare(request).body)
    return {name: value for name, value in body.items() if name not in ("messages", "toolConfig")}


LIMIT: Final = {"maxTokens": 32_000}
OPUS: Final = "us.anthropic.claude-opus-4-7"
ADAPTIVE: Final = {"thinking": {"type": "adaptive", "display": "summarized"}}


@pytest.mark.parametrize(
    ("model", "options", "expected"),
    [
        (service.CLAUDE, {}, {}),
        (
            service.CLAUDE,
            {"topP": 0.5, "stop": "end", "topK": 5},
            {
                "inferenceConfig": {**LIMIT, "topP": 0.5, "stopSequences": ["end"]},
                "additionalModelRequestFields": {"top_k": 5},
            },
        ),
        (
            service.CLAUDE,
            {"reasoningConfig": {"type": "enabled", "budgetTokens": 2048}, "anthropicBeta": ["a"]},
            {
                "additionalModelRequestFields": {
                    "thinking": {"type": "enabled", "budget_tokens": 2048},
                    "anthropic_beta": ["a"],
                }
            },
        ),
        (
            OPUS,
            {"reasoningEffort": "high"},
            {"additionalModelRequestFields": {**ADAPTIVE, "output_config": {"effort": "high"}}},
        ),
        (
            OPUS,
            {"reasoningConfig": {"type": "adaptive", "maxReasoningEffort": "max"}},
            {"additionalModelRequestFields": {**ADAPTIVE, "output_config": {"effort": "max"}}},
        ),
        (service.NOVA, {"top_p": 0.5, "seed": 1, "user": "me"}, {"inferenceConfig": {**LIMIT, "topP": 0.5}}),
        (
            "amazon.nova-2-lite-v1:0",
            {"reasoningEffort": "low"},
            {"additionalModelRequestFields": {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "low"}}},
        ),
        (
            "openai.gpt-oss-120b-1:0",
            {"reasoningEffort": "low"},
            {"additionalModelRequestFields": {"reasoning_effort": "low"}},
        ),
        (
            "openai.gpt-oss-120b-1:0",
            {"reasoningConfig": {"maxReasoningEffort": "high"}, "serviceTier": "flex"},
            {"additionalModelRequestFields": {"reasoning_effort": "high"}, "serviceTier": {"type": "flex"}},
        ),
        (
            "deepseek.v3.2",
            {"additionalModelRequestFields": {"a": 1}, "b": 2, "extra_body": {"requestMetadata": {"team": "red"}}},
            {"additionalModelRequestFields": {"a": 1, "b": 2}, "requestMetadata": {"team": "red"}},
        ),
    ],
)
def test_options_have_the_services_places(model: str, options: dict[str, Any], expected: dict[str, Any]) -> None:
    assert body_of(model, options) == {"inferenceConfig": LIMIT, **expected}
    shape = service_model("bedrock-runtime").operation_model("ConverseStream").input_shape
    assert list(violations(shape, {"messages": [], **body_of(model, options)})) == []


def test_a_model_that_thinks_takes_no_temperature() -> None:
    assert "temperature" not in body_of(service.CLAUDE, BUDGET, temperature=0.5)["inferenceConfig"]
    assert body_of(service.CLAUDE, {}, temperature=0.5)["inferenceConfig"]["temperature"] == 0.5


def test_a_name_with_a_colon_or_a_slash_is_escaped_in_the_address() -> None:
    arn = "arn:aws:bedrock:us-east-1:1:application-inference-profile/a1"
    endpoint = Endpoint(model=f"bedrock/{arn}", wire=Wire.BEDROCK)
    prepared = prepare(ModelRequest(endpoint=endpoint, messages=GO))

    escaped = "arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Aapplication-inference-profile%2Fa1"
    assert prepared.url == f"https://bedrock-runtime.us-east-1.amazonaws.com/model/{escaped}/converse-stream"
    assert prepared.headers["accept"] == KIND


async def test_pieces_of_text_stay_with_a_document(port: WireRouter) -> None:
    talk = Talk(port, DONE)
    pieces = (TextPiece(text="Look:"), FilePiece(name="a.pdf", url="data:application/pdf;base64,JVBERi0="))
    async with serve_double(talk.double):
        await collect_answer(port, talk.wire.request((UserInput(content=pieces),)))

    assert talk.double.asked[0]["messages"][0]["content"][0] == {"text": "Look:"}
