"""A real server with a real, small model, as a process that can be killed, and how sessions are told of it."""

import asyncio
import json
import os
import re
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx

from tests.harness import Harness
from tests.polling import attempts
from tests.port_pairs import adjacent_free_ports

PACKAGES: Final = Path(__file__).resolve().parents[2] / ".model-test"
PROGRAM: Final = Path(__file__).with_name("serve_model.py")
_METRIC: Final = re.compile(r"^llamacpp:(\w+) (\d+)$", re.MULTILINE)


@dataclass(frozen=True)
class Wire:
    """A protocol that the server speaks. `id`: a name of the model that makes us choose it; the server takes any."""

    name: str
    package: str
    id: str = "model"


CHAT: Final = Wire("chat", "@ai-sdk/openai-compatible")
RESPONSES: Final = Wire("responses", "@ai-sdk/openai", id="gpt-5.3-codex")
MESSAGES: Final = Wire("messages", "@ai-sdk/anthropic")


@dataclass
class LocalModel:
    """`context`: tokens of a conversation; `endless`: answers end at their limit only."""

    context: int
    slots: int
    endless: bool
    port: int
    process: Process | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def start(self) -> None:
        """Start, and wait until it answers."""
        options = f"--port {self.port} --context {self.context} --slots {self.slots}".split()
        options += ["--endless"] if self.endless else []
        self.process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", str(PROGRAM), *options),
            env=os.environ | {"PYTHONPATH": str(PACKAGES), "LLAMA_SERVER_SLOTS_DEBUG": "1"},
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=DEVNULL,
        )
        assert self.process.stdout is not None
        assert await self.process.stdout.readline(), "the server did not start: `make model-test` installs it"

    async def kill(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            await self.process.wait()
            self.process = None

    async def busy_slots(self) -> list[dict[str, Any]]:
        """The slots at work, with the prompts that they have."""
        async with httpx.AsyncClient() as client:
            slots: list[dict[str, Any]] = (await client.get(f"{self.url}/slots")).json()
        return [slot for slot in slots if slot["is_processing"]]

    async def metrics(self) -> dict[str, int]:
        """What the server has counted since its start."""
        async with httpx.AsyncClient() as client:
            text = (await client.get(f"{self.url}/metrics")).text
        return {name: int(value) for name, value in _METRIC.findall(text)}

    async def until(self, seen: Callable[[dict[str, int]], bool]) -> dict[str, int]:
        """Wait until the server has counted this."""
        async for _ in attempts():
            if seen(found := await self.metrics()):
                return found
        raise AssertionError("attempts end by a time-out")

    def configure(
        self, harness: Harness, wire: Wire, *, output: int, context: int | None = None, grammar: str | None = None
    ) -> None:
        """Name the model `local/model`; `context`: what the configuration says instead; `grammar`: of summaries.

        Instructions are short, because one thread reads fewer than 100 tokens a second beside other work.
        """
        file = harness.settings.config / "opencode.json"
        known = json.loads(file.read_text())
        model = {"id": wire.id, "limit": {"context": context or self.context, "output": output}}
        sums = {"options": {"grammar": grammar}} if grammar else {}
        known["provider"]["local"] = self._provider(wire, model)
        known["provider"]["sums"] = self._provider(CHAT, model | sums)  # which alone takes a grammar
        known["agent"]["build"] = {"prompt": "Answer."}
        known["agent"]["compaction"] = {"prompt": "Sum up.", "model": "sums/model"}
        file.write_text(json.dumps(known))

    def _provider(self, wire: Wire, model: dict[str, Any]) -> dict[str, Any]:
        options = {"baseURL": f"{self.url}/v1", "apiKey": "any"}
        return {"npm": wire.package, "options": options, "models": {"model": model}}


@asynccontextmanager
async def serve(context: int = 2048, *, slots: int = 1, endless: bool = False) -> AsyncIterator[LocalModel]:
    model = LocalModel(context, slots, endless, port=adjacent_free_ports()[0])
    await model.start()
    try:
        yield model
    finally:
        await model.kill()
