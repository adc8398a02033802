"""The strict double is as Groq's own client expects a server, and refuses what Groq and Cerebras refuse."""

import json
from typing import Any, Final

import pytest
from groq import AsyncGroq, BadRequestError

from activities.model.endpoint import Wire
from activities.model.port import AssistantInput, InputMessage, ToolResultInput
from activities.model.stream import Answer as Assembled
from activities.model.wires.router import WireRouter
from tests.providers.double_requests import GO, collect_answer, request
from tests.providers.openai_chat import Answer, Call, Text, Thought
from tests.providers.provider_double import serve_double
from tests.providers.raw_requests import refusal
from tests.providers.strict_chat import KEY, StrictChat, Vendor
from workflows.domain.messages import TextPart

READS: Final = Answer((Thought("Zuerst."), Text("Grün: ✅"), Call("read", '{"path": "a"}')))
PATH: Final = "/v1/chat/completions"
HI: Final = {"role": "user", "content": "Hi"}
CALL: Final = {"id": "a", "type": "function", "function": {"name": "read", "arguments": "{}"}}
RESULT: Final = {"role": "tool", "tool_call_id": "a", "content": "x"}
TOOL: Final = {"type": "function", "function": {"name": "read", "parameters": {"type": "object", "properties": {}}}}


async def played(service: StrictChat, **more: Any) -> list[Any]:
    """Groq's client puts `/openai/v1` into its addresses."""
    asked: Any = {"model": "openai/gpt-oss-120b", "messages": [HI], "stream": True, **more}
    async with (
        serve_double(service.double),
        AsyncGroq(api_key=KEY, base_url=service.double.url, max_retries=0) as client,
    ):
        return [chunk async for chunk in await client.chat.completions.create(**asked)]


class AtGroq(StrictChat):
    path = "/openai/v1/chat/completions"


async def test_groqs_client_understands_a_stream() -> None:
    chunks = await played(AtGroq(READS))

    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    functions = [call.function for delta in deltas for call in delta.tool_calls or ()]
    assert "".join(delta.reasoning or "" for delta in deltas) == "Zuerst."
    assert "".join(delta.content or "" for delta in deltas) == "Grün: ✅"
    assert functions[0].name == "read" and "".join(each.arguments for each in functions) == '{"path": "a"}'
    assert chunks[-1].choices[0].finish_reason == "tool_calls" and chunks[-1].usage is None


async def test_groqs_client_reports_a_refusal() -> None:
    with pytest.raises(BadRequestError, match="property 'cache_control' is unsupported"):
        await played(AtGroq(READS), messages=[{**HI, "cache_control": {"type": "ephemeral"}}])


def answered(**more: Any) -> list[dict[str, Any]]:
    return [HI, {"role": "assistant", "content": "Hi", **more}, HI]


def called(**more: Any) -> list[dict[str, Any]]:
    return [HI, {"role": "assistant", "tool_calls": [{**CALL, **more}]}, RESULT]


UNKNOWN: Final[dict[str, dict[str, Any]]] = {
    "reasoning_content": {"messages": answered(reasoning_content="Hm.")},
    "reasoning_details": {"messages": answered(reasoning_details=[])},
    "thinking_blocks": {"messages": answered(thinking_blocks=[])},
    "extra_content": {"messages": called(extra_content={})},
    "cache_control": {"messages": [{"role": "user", "content": [{"type": "text", "text": "Hi", "cache_control": {}}]}]},
    "enable_thinking": {"enable_thinking": True},
    "usage": {"usage": {"include": True}},
    "stream_option": {"stream_option": {}},
    "strict": {"tools": [{**TOOL, "strict": True}]},
}


@pytest.mark.parametrize("vendor", Vendor)
@pytest.mark.parametrize("name", UNKNOWN)
async def test_a_member_that_its_types_lack_is_refused_by_name(vendor: Vendor, name: str) -> None:
    body = {"model": "m", "messages": [HI], **UNKNOWN[name]}

    status, text = await refusal(
        StrictChat(READS, vendor=vendor).double, PATH, body, {"authorization": f"Bearer {KEY}"}
    )

    told = json.loads(text)
    message = told["error"]["message"] if vendor is Vendor.GROQ else told["message"]
    assert status == 400 and name in message and "is unsupported" in message


async def test_only_cerebras_takes_a_key_of_the_cache() -> None:
    body = {"model": "m", "messages": [HI], "prompt_cache_key": "x"}
    key = {"authorization": f"Bearer {KEY}"}

    statuses = [(await refusal(StrictChat(READS, vendor=each).double, PATH, body, key))[0] for each in Vendor]

    assert dict(zip(Vendor, statuses, strict=True)) == {Vendor.GROQ: 400, Vendor.CEREBRAS: 200}


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        ("tool_choice must be one of", {"tool_choice": "any", "tools": [TOOL]}),
        ("must be a response", {"messages": [HI, RESULT]}),
        ("did not have response messages", {"messages": called()[:-1]}),
        ("valid string", {"messages": [HI, {"role": "assistant", "tool_calls": [{**CALL, "id": None}]}, RESULT]}),
        ("Invalid value: 'file'", {"messages": [{"role": "user", "content": [{"type": "file", "file": {}}]}]}),
    ],
)
async def test_what_is_no_request_is_refused(words: str, wrong: dict[str, Any]) -> None:
    body = {"model": "m", "messages": [HI], **wrong}

    status, text = await refusal(StrictChat(READS).double, PATH, body, {"authorization": f"Bearer {KEY}"})

    assert status == 400
    assert words in json.loads(text)["error"]["message"]


@pytest.mark.parametrize(
    "right",
    [{"messages": answered(reasoning="Hm.")}, {"tool_choice": "none", "tools": [TOOL]}, {"reasoning_effort": "low"}],
)
async def test_what_its_types_have_is_taken(right: dict[str, Any]) -> None:
    body = {"model": "m", "messages": [HI], **right}

    status, _ = await refusal(StrictChat(READS).double, PATH, body, {"authorization": f"Bearer {KEY}"})

    assert status == 200


@pytest.mark.parametrize("vendor", Vendor)
async def test_a_turn_goes_on_with_its_reasoning(port: WireRouter, vendor: Vendor) -> None:
    service = StrictChat(READS, Answer((Text("Done."),)), vendor=vendor)
    async with serve_double(service.double):

        async def ask(*more: InputMessage) -> Assembled:
            url = f"{service.double.url}/v1"
            return await collect_answer(port, request(Wire.CHAT, "openai/gpt-oss-120b", url, KEY, (*GO, *more)))

        first = await ask()
        result = ToolResultInput(call=first.calls[0].id, content="x")
        second = await ask(AssistantInput(parts=first.parts), result)

    assert second.parts == (TextPart(text="Done."),)
    assert service.double.asked[1]["messages"][1]["reasoning"] == "Zuerst."
