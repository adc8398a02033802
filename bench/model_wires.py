"""CPU time of a request on each wire, beside plain `httpx` that sends the same bytes and reads the same stream."""

import json
import os
import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from itertools import repeat
from statistics import median
from typing import Final

import httpx
import openai
from botocore.eventstream import EventStreamBuffer

from activities.model.endpoint import Wire
from activities.model.wires.router import WireRouter
from bench.canned_answers import LAST
from bench.figure_table import Budget, Figure
from bench.wire_requests import ASKED, KEY, MESSAGES, canned_server, first_asked, growing_session, stream_answer

OWN: Final = Budget(must=1.5, aim=1.2, ratio=True)
_ROUNDS: Final = 45
_WARM: Final = 2  # requests before any counts: the second one of a session is the first that does
_PART: Final = "the same"

Ask = Callable[[], Awaitable[None]]


async def measure_wires() -> list[Figure]:
    """Milliseconds of CPU per request with a conversation of MESSAGES messages, which grows by two each time."""
    port = WireRouter(os.environ)
    await port.warm()
    figures = []
    async with canned_server() as url, httpx.AsyncClient(timeout=None) as client:
        for asked in ASKED:
            asks = (partial(stream_answer, port, request) for request in growing_session(asked, url))
            took, floor = await _compare(client, url, asked.wire, asks)
            budget = None if asked.wire is Wire.LITELLM else OWN
            part = asked.name.startswith(_PART)
            name = f"  {asked.name}" if part else f"CPU per request of {MESSAGES} messages, {asked.name} (ms)"
            figures.append(Figure(name, took, floor, budget))
        figures.append(await _measure_package(port, client, url))
    await port.close()
    return figures


async def _measure_package(port: WireRouter, client: httpx.AsyncClient, url: str) -> Figure:
    """The call that another implementation of the Responses wire could go through, with the same request."""
    wire = Wire.RESPONSES
    base_url = f"{url}/{wire}"
    await stream_answer(port, next(growing_session(first_asked(wire), url)))
    sent = json.loads((await client.get(f"{url}{LAST}")).content)

    async def ask() -> None:
        async for _ in await package.responses.create(**sent):
            pass

    async with openai.AsyncOpenAI(api_key=KEY.get_secret_value(), base_url=base_url, max_retries=0) as package:
        took, floor = await _compare(client, url, wire, repeat(ask))
    return Figure("  Responses by the openai package's own call", took, floor)


async def _compare(client: httpx.AsyncClient, url: str, wire: Wire, asks: Iterator[Ask]) -> tuple[float, float]:
    """Medians of rounds in turns: of `asks`, and of plain httpx with the same bytes. Both follow the same request."""
    ours, theirs = [], []
    for number, ask in zip(range(_WARM + _ROUNDS), asks, strict=False):
        await client.get(f"{url}{LAST}")
        took = await _milliseconds(ask)
        sent = (await client.get(f"{url}{LAST}")).content
        plain = await _milliseconds(partial(_plain, client, f"{url}/{wire}", sent))
        if number >= _WARM:
            ours.append(took)
            theirs.append(plain)
    return median(ours), median(theirs)


async def _milliseconds(ask: Ask) -> float:
    began = time.process_time()
    await ask()
    return (time.process_time() - began) * 1000


async def _plain(client: httpx.AsyncClient, url: str, body: bytes) -> None:
    async with client.stream("POST", url, content=body, headers={"content-type": "application/json"}) as response:
        if url.endswith(Wire.BEDROCK):
            await _read_frames(response)
            return
        async for line in response.aiter_lines():
            data = line.removeprefix("data: ")
            if data and data != "[DONE]" and not data.startswith("event: "):
                json.loads(data)


async def _read_frames(response: httpx.Response) -> None:
    """By botocore, as AWS's own client reads them."""
    frames = EventStreamBuffer()
    async for received in response.aiter_bytes():
        frames.add_data(received)
        for frame in frames:
            json.loads(frame.payload)
