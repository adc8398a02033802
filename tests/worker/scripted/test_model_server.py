"""The scripted model, asked by a plain HTTP client."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from worker.scripted.answer_player import wait_for_file
from worker.scripted.model_server import ModelServer, serve
from worker.scripted.request_ledger import StreamEnd, read_ledger
from worker.scripted.script import Drop, Hold, Refuse, Script, ScriptedAnswer, ScriptedCall, ScriptedFault

GO = {"role": "user", "content": "go"}
SAID = {"role": "assistant", "content": "x"}


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


async def test_text_and_arguments_come_in_small_pieces_and_usage_at_the_end(client: aiohttp.ClientSession) -> None:
    said = ScriptedAnswer(text="abcdef", tools=(ScriptedCall(name="read", arguments="123456"),), chunk=4)

    async with serve(Script(answers=(said,))) as server:
        chunks = await ask(client, server, GO)

    deltas = [chunk["choices"][0]["delta"] for chunk in chunks[:-1]]
    assert [delta["content"] for delta in deltas if delta.get("content")] == ["abcd", "ef"]
    calls = [delta["tool_calls"][0] for delta in deltas if "tool_calls" in delta]
    assert [call["function"]["arguments"] for call in calls] == ["", "1234", "56"]
    assert chunks[-2]["choices"][0]["finish_reason"] == "tool_calls"
    assert chunks[-1]["usage"]["total_tokens"] > 0


async def test_the_same_conversation_gets_the_same_answer_again(client: aiohttp.ClientSession) -> None:
    async with serve(Script(answers=(ScriptedAnswer(text="one"), ScriptedAnswer(text="two")))) as server:
        texts = [text(await ask(client, server, *talk)) for talk in ((GO,), (GO,), (GO, SAID), (GO,))]

    assert texts == ["one", "one", "two", "one"]


async def test_a_marker_chooses_the_script(client: aiohttp.ClientSession) -> None:
    scripts = {name: Script(answers=(ScriptedAnswer(text=name),)) for name in ("default", "other")}

    async with serve(scripts) as server:
        chosen = await ask(client, server, {"role": "user", "content": "[[script:other]] go"})
        assert (text(chosen), text(await ask(client, server, GO))) == ("other", "default")


async def test_a_request_without_tools_gets_the_aside(client: aiohttp.ClientSession) -> None:
    script = Script(answers=(ScriptedAnswer(text="answer"),), auxiliary_answer=ScriptedAnswer(text="A title"))

    async with serve(script) as server:
        assert text(await ask(client, server, GO, tools=False)) == "A title"
        assert text(await ask(client, server, GO)) == "answer"


async def test_a_malformed_conversation_is_refused_and_noted(client: aiohttp.ClientSession) -> None:
    async with serve(Script(answers=(ScriptedAnswer(text="x"),))) as server:
        response = await post(client, server, {"role": "tool", "tool_call_id": "a", "content": ""})

    assert response.status == 400
    assert server.ledger.entries[0].end is StreamEnd.MALFORMED


async def test_a_step_that_the_script_lacks_is_refused(client: aiohttp.ClientSession) -> None:
    async with serve(Script(answers=())) as server:
        assert (await post(client, server, GO)).status == 400


async def test_a_fault_befalls_the_request_that_it_is_meant_for(client: aiohttp.ClientSession) -> None:
    async with serve(one_with({2: Refuse(status=429, headers={"retry-after": "3"})})) as server:
        first, second, third = [await post(client, server, GO) for _ in range(3)]

    assert [first.status, second.status, third.status] == [200, 429, 200]
    assert second.headers["retry-after"] == "3"


async def test_a_dropped_connection_is_noted(client: aiohttp.ClientSession) -> None:
    async with serve(one_with({1: Drop(after=1)})) as server:
        with pytest.raises(aiohttp.ClientPayloadError):
            await ask(client, server, GO)
        entry = await server.ledger.entry(1)

    assert (entry.end, entry.chunks) == (StreamEnd.BROKEN, 1)


async def test_a_held_answer_waits_for_its_file(client: aiohttp.ClientSession, tmp_path: Path) -> None:
    gate = tmp_path / "gate"

    async with serve(one_with({1: Hold(path=str(gate), after=1)})) as server:
        asking = asyncio.create_task(ask(client, server, GO))
        await wait_for_file(tmp_path / "gate.reached")
        assert server.ledger.entries == []
        gate.touch()
        assert text(await asking) == "text"


async def test_the_ledger_says_what_was_asked_and_how_it_ended(client: aiohttp.ClientSession, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.jsonl"

    async with serve(one_with({1: Refuse()}), ledger) as server:
        await post(client, server, GO)
        await ask(client, server, GO)

    refused, played = read_ledger(ledger)
    assert [(entry.n, entry.attempt, entry.step, entry.end) for entry in (refused, played)] == [
        (1, 1, 0, StreamEnd.REFUSED),
        (2, 2, 0, StreamEnd.COMPLETE),
    ]
    assert refused.messages == played.messages


def one_with(faults: dict[int, ScriptedFault]) -> Script:
    return Script(answers=(ScriptedAnswer(text="text", faults=faults),))


async def post(client: aiohttp.ClientSession, server: ModelServer, *messages: dict[str, Any]) -> aiohttp.ClientResponse:
    body = {"model": "scripted", "messages": messages, "stream": True, "tools": [{}]}
    async with client.post(f"{server.url}/chat/completions", json=body) as response:
        await response.read()
        return response


async def ask(
    client: aiohttp.ClientSession, server: ModelServer, *messages: dict[str, Any], tools: bool = True
) -> list[dict[str, Any]]:
    options = {"stream": True, "stream_options": {"include_usage": True}, "tools": [{}] if tools else None}
    body = {"model": "scripted", "messages": messages, **options}
    async with client.post(f"{server.url}/chat/completions", json=body) as response:
        lines = (await response.text()).split("\n\n")
    assert lines[-2:] == ["data: [DONE]", ""]
    return [json.loads(line.removeprefix("data: ")) for line in lines[:-2]]


def text(chunks: list[dict[str, Any]]) -> str:
    return "".join(choice["delta"].get("content", "") for chunk in chunks for choice in chunk["choices"])
