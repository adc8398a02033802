"""The double of Bedrock is as AWS's own client expects it, and refuses what the service refuses."""

import asyncio
import json
from typing import Any, Final

import pytest
from botocore.eventstream import ChecksumMismatch
from botocore.exceptions import ClientError, EventStreamError

from tests.providers.bedrock_converse import (
    ACCESS_KEY,
    API_KEY,
    BROKEN,
    CLAUDE,
    LLAMA,
    NOVA,
    RULES,
    THROTTLED,
    USAGE,
    Bedrock,
)
from tests.providers.bedrock_converse import refused as service_error
from tests.providers.botocore_client import converse, joined
from tests.providers.double_outputs import Answer, Call, Text, Thought
from tests.providers.event_stream_frames import event_frame
from tests.providers.provider_double import serve_double
from tests.providers.raw_requests import refusal

EVERYTHING: Final = Answer(
    (Thought("Zuerst die Datei."), Thought(redacted=True), Text("Grün: ✅"), Call("read", '{"path": "a"}'), Call("ls"))
)


async def played(service: Bedrock) -> list[dict[str, Any]]:
    """The events of an answer, by botocore."""
    async with serve_double(service.double):
        return await asyncio.to_thread(converse, service.double.url)


async def test_botocore_understands_every_stream() -> None:
    events = await played(Bedrock(EVERYTHING))

    assert joined(events) == {
        0: {"reasoningContent.text": "Zuerst die Datei.", "reasoningContent.signature": "sig+1/=="},
        1: {"reasoningContent.redactedContent": b"secret-2"},
        2: {"text.text": "Grün: ✅"},
        3: {"toolUse.toolUseId": "tooluse_4", "toolUse.name": "read", "toolUse.input": '{"path": "a"}'},
        4: {"toolUse.toolUseId": "tooluse_5", "toolUse.name": "ls", "toolUse.input": ""},
    }
    assert events[0] == {"messageStart": {"role": "assistant"}}
    assert events[-2:] == [
        {"messageStop": {"stopReason": "tool_use"}},
        {"metadata": {"usage": USAGE, "metrics": {"latencyMs": 7}}},
    ]


@pytest.mark.parametrize(("frame", "code"), [(THROTTLED, "throttlingException"), (BROKEN, "modelStreamErrorException")])
async def test_botocore_reports_a_failure_in_the_middle(frame: bytes, code: str) -> None:
    with pytest.raises(EventStreamError) as caught:
        await played(Bedrock(Answer((Text("Half"), frame))))
    assert caught.value.response["Error"]["Code"] == code


async def test_botocore_checks_each_frame() -> None:
    frame = event_frame("messageStart", {"role": "assistant"})

    with pytest.raises(ChecksumMismatch):
        await played(Bedrock(Answer((frame[:-1] + bytes([frame[-1] ^ 1]),))))


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, "ValidationException"),
        (403, "AccessDeniedException"),
        (404, "ResourceNotFoundException"),
        (408, "ModelTimeoutException"),
        (424, "ModelErrorException"),
        (429, "ThrottlingException"),
        (429, "ModelNotReadyException"),
        (500, "InternalServerException"),
        (503, "ServiceUnavailableException"),
    ],
)
async def test_botocore_reports_each_error_of_the_service(status: int, code: str) -> None:
    service = Bedrock(Answer(()))

    def refuse(*_: object) -> Any:
        raise service_error(status, code, "No.")

    service.double.check = refuse
    with pytest.raises(ClientError) as caught:
        await played(service)
    assert (caught.value.response["Error"]["Code"], caught.value.response["ResponseMetadata"]["HTTPStatusCode"]) == (
        code,
        status,
    )


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def result(id: str = "t1", text: str = "x") -> dict[str, Any]:
    return {"toolResult": {"toolUseId": id, "content": [{"text": text}]}}


HI: Final = {"text": "Hi"}
TOOLS: Final[dict[str, Any]] = {"tools": [{"toolSpec": {"name": "read", "inputSchema": {"json": {"type": "object"}}}}]}
NONE: Final[dict[str, Any]] = {**TOOLS, "toolChoice": {"none": {}}}
CALL: Final = {"toolUse": {"toolUseId": "t1", "name": "read", "input": {}}}
MARK: Final = {"cachePoint": {"type": "default"}}
PDF: Final = {"document": {"format": "pdf", "name": "a  b", "source": {"bytes": "QUJD"}}}
NAMED: Final = {"document": {**PDF["document"], "name": "a"}}
FAILED: Final = {"toolResult": {"toolUseId": "t1", "content": [{"text": "x"}], "status": "error"}}
FORGED: Final = {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "forged"}}}
THINKS: Final = {"thinking": {"type": "enabled", "budget_tokens": 2048}}
AUTHORIZED: Final = f"Bearer {API_KEY}"
FORGED_SIGNATURE: Final = (
    f"AWS4-HMAC-SHA256 Credential={ACCESS_KEY}/20260101/us-east-1/bedrock/aws4_request, "
    f"SignedHeaders=host;x-amz-date, Signature={'0' * 64}"
)


def talk(*messages: Any, model: str = CLAUDE, tools: Any = TOOLS, **more: Any) -> tuple[str, dict[str, Any]]:
    return model, {"messages": list(messages), **({"toolConfig": tools} if tools else {}), **more}


_SCHEMA: Final = json.dumps({"type": "object", "properties": {}})
OPEN_OBJECT: Final = {"textFormat": {"type": "json_schema", "structure": {"jsonSchema": {"schema": _SCHEMA}}}}
WRONG: Final = {
    "signed": talk(user(HI)),
    "credential": talk(user(HI)),
    "request signature": talk(user(HI)),
    "model": talk(user(HI), model="anthropic.claude-9"),
    "shape": talk(user({"text": "Hi", "cachePoint": {"type": "default"}})),
    "user first": talk(assistant(HI)),
    "alternate": talk(user(HI), user(HI)),
    "content": talk(user(HI), assistant()),
    "blank": talk(user({"text": " "})),
    "tool config": talk(user(HI), assistant(CALL), user(result()), tools=None),
    "results": talk(user(HI), assistant(CALL), user(HI)),
    "too many results": talk(user(HI), assistant(CALL), user(result(), result("t2"))),
    "duplicates": talk(user(HI), assistant(CALL, CALL), user(result())),
    "results apart": talk(user(HI), assistant(CALL), user(result(), HI), model=LLAMA),
    "images": talk(user(HI), assistant(HI, {"image": {"format": "png", "source": {"bytes": "QUJD"}}})),
    "document": talk(user(PDF)),
    "document name": talk(user(HI, PDF)),
    "document names": talk(user(HI, NAMED, NAMED)),
    "caching model": talk(user(HI, MARK), model=LLAMA),
    "status": talk(user(HI), assistant(CALL), user(FAILED), model=LLAMA),
    "format": talk(user(HI), outputConfig=OPEN_OBJECT),
    "marks": talk(user(HI, MARK, HI, MARK, HI, MARK, HI, MARK, HI, MARK)),
    "reasoning role": talk(user(FORGED)),
    "reasoning model": talk(user(HI), assistant(FORGED), user(HI), model=NOVA),
    "signature": talk(user(HI), assistant(FORGED), user(HI)),
    "order": talk(),
    "thinking first": talk(user(HI), assistant(CALL), user(result()), additionalModelRequestFields=THINKS),
    "thinking off": talk(user(HI), assistant(FORGED, CALL), user(result())),
}


@pytest.mark.parametrize("rule", RULES)
async def test_what_the_service_refuses_is_refused(rule: str) -> None:
    service = Bedrock(EVERYTHING)
    model, body = WRONG[rule] if rule != "order" else await reordered(service)
    headers = {
        "signed": {},
        "credential": {"authorization": "AWS4-HMAC-SHA256 Credential=other"},
        "request signature": {"authorization": FORGED_SIGNATURE, "x-amz-date": "20260101T000000Z"},
    }

    status, text = await refusal(
        service.double, f"/model/{model}/converse-stream", body, headers.get(rule, {"authorization": AUTHORIZED})
    )

    assert status == (403 if rule in headers or rule == "caching model" else 400)
    assert json.loads(text)["message"].startswith(RULES[rule].words.partition("{}")[0])


async def reordered(service: Bedrock) -> tuple[str, dict[str, Any]]:
    """An answer that comes back with its reasoning in another order."""
    thoughts = joined(await played(service))
    first = {"text": thoughts[0]["reasoningContent.text"], "signature": thoughts[0]["reasoningContent.signature"]}
    call = {"toolUse": {"toolUseId": thoughts[3]["toolUse.toolUseId"], "name": "read", "input": {"path": "a"}}}
    said = assistant({"reasoningContent": {"reasoningText": first}}, call)
    return talk(user(HI), said, user(result("tooluse_4")), additionalModelRequestFields=THINKS)


@pytest.mark.parametrize(
    "wrong",
    [
        {"messages": "go"},
        {"messages": [{"role": "tool", "content": [HI]}]},
        {"messages": [user({"video": {}})]},
        {"messages": [user({"sound": {}})]},
        {"messages": [user({"image": {"format": "bmp", "source": {"bytes": "QUJD"}}})]},
        {"messages": [user({"image": {"format": "png", "source": {"bytes": "not Base64!"}}})]},
        {"messages": [user(HI), assistant({"toolUse": {"toolUseId": "call é", "name": "read", "input": {}}})]},
        {"messages": [user(HI), assistant({"toolUse": {"toolUseId": "t" * 65, "name": "read", "input": {}}})]},
        {"messages": [user(HI)], "toolConfig": {"tools": []}},
        {"messages": [user(HI)], "toolConfig": NONE},
        {"messages": [user(HI)], "inferenceConfig": {"maxTokens": 0}},
        {"messages": [user(HI)], "system": "Be brief."},
        {"messages": [user(HI)], "stream": True},
    ],
)
async def test_what_does_not_fit_the_service_model_is_refused(wrong: dict[str, Any]) -> None:
    path = f"/model/{CLAUDE}/converse-stream"

    status, text = await refusal(Bedrock(EVERYTHING).double, path, wrong, {"authorization": AUTHORIZED})

    assert (status, "1 validation error detected" in text) == (400, True)


def test_every_rule_has_its_wrong_request() -> None:
    assert WRONG.keys() == RULES.keys()
