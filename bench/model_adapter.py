"""The model adapter's cost beside a plain HTTP client's: import, memory, a request, a chunk.

Run it with `python -P -m bench.model_adapter`. The figures depend on the machine, the ratios hardly do.
"""

import asyncio
import json
import os
import resource
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass

import aiohttp
import httpx
from pydantic import SecretStr

from activities.model.chat_format import build_body
from activities.model.port import Endpoint, InputMessage, ModelRequest, SystemInput, UserInput, Wire
from activities.model.wires.router import WireRouter
from worker.scripted.model_server import serve
from worker.scripted.script import Script, ScriptedAnswer
from workflows.domain.tool_offer import ToolOffer

ROUNDS = 15
SHORT, LONG = 3, 503  # chunks of an answer

Asking = Callable[[ModelRequest], Awaitable[None]]


@dataclass(frozen=True)
class Client:
    name: str
    ask: Asking
    compatible: bool = True


async def main() -> None:
    adapter = WireRouter(os.environ)
    began, memory = time.perf_counter(), _memory()
    await adapter.warm()
    print(f"import of litellm: {time.perf_counter() - began:.1f} s, {_memory() - memory:.0f} MB")
    async with aiohttp.ClientSession() as session, httpx.AsyncClient() as client:
        clients = (
            Client("plain aiohttp", lambda request: _by_aiohttp(session, request)),
            Client("plain httpx", lambda request: _by_httpx(client, request)),
            Client("adapter, OpenAI-compatible", lambda request: _by_adapter(adapter, request)),
            Client("adapter, through litellm", lambda request: _by_adapter(adapter, request), compatible=False),
        )
        for messages in (10, 400):
            await _compare(clients, messages)
    print(f"memory of the process at the end: {_memory():.0f} MB")
    await adapter.close()


async def _compare(clients: tuple[Client, ...], messages: int) -> None:
    print(f"\n{messages} messages{'':24}request     ratio      chunk")
    scripts = {
        name: Script(answers=(ScriptedAnswer(text="".join(map(chr, range(97, 97 + 16))) * chunks, chunk=16),))
        for name, chunks in (("short", SHORT), ("long", LONG))
    }
    async with serve(scripts) as server:
        floor = 0.0
        for client in clients:
            short = await _best(client, _request(server.url, messages, "short", client.compatible))
            long = await _best(client, _request(server.url, messages, "long", client.compatible))
            floor = floor or short
            chunk = (long - short) / (LONG - SHORT)
            print(f"  {client.name:28}{short * 1e3:9.1f} ms {short / floor:8.1f}×{chunk * 1e6:9.0f} µs")


async def _best(client: Client, request: ModelRequest) -> float:
    """Seconds of the fastest round: the least disturbed one."""
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        await client.ask(request)
        times.append(time.perf_counter() - began)
    return min(times)


async def _by_adapter(adapter: WireRouter, request: ModelRequest) -> None:
    async with aclosing(adapter.stream(request)) as stream:
        async for _ in stream:
            pass


async def _by_aiohttp(session: aiohttp.ClientSession, request: ModelRequest) -> None:
    async with session.post(_url(request), json=_plain(request)) as response:
        async for line in response.content:
            _read(line)


async def _by_httpx(client: httpx.AsyncClient, request: ModelRequest) -> None:
    async with client.stream("POST", _url(request), json=_plain(request)) as response:
        async for line in response.aiter_lines():
            _read(line.encode())


def _url(request: ModelRequest) -> str:
    return f"{request.endpoint.base_url}/chat/completions"


def _plain(request: ModelRequest) -> dict[str, object]:
    return {**build_body(request), "model": "scripted", "stream": True}


def _read(line: bytes) -> None:
    data = line.removeprefix(b"data: ").strip()
    if data and data != b"[DONE]":
        json.loads(data)


def _request(url: str, messages: int, script: str, compatible: bool) -> ModelRequest:
    spoken: list[InputMessage] = [SystemInput(content="s" * 5000), UserInput(content=f"[[script:{script}]]")]
    spoken += [UserInput(content="u" * 1000) for _ in range(messages - len(spoken))]
    schema = {"type": "object", "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}}}
    return ModelRequest(
        endpoint=Endpoint(
            model="openai/scripted", base_url=url, key=SecretStr("key"), wire=Wire.CHAT if compatible else Wire.LITELLM
        ),
        messages=tuple(spoken),
        tools=tuple(ToolOffer(name=f"tool{n}", description="d" * 1000, parameters=schema) for n in range(10)),
    )


def _memory() -> float:
    """The process's peak in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    asyncio.run(main())
