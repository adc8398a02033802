"""OpenCode beside Holdfast: `opencode serve` from npm, on the same scripted model, without snapshots."""

import asyncio
import json
import os
import shutil
import tempfile
from asyncio.subprocess import DEVNULL, PIPE, STDOUT
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

import httpx
import psutil

from bench import floor, systems
from bench.figure_table import Budget, Figure
from bench.step_overhead import alternate
from bench.systems import System
from bench.testbed import Testbed

BESIDE: Final = Budget(must=0.8, aim=0.5, ratio=True)
_PACKAGE: Final = "opencode-ai"
_ROUNDS: Final = 3
_STEPS: Final = 20
_TIMEOUT: Final = 300.0  # seconds for the installation


@dataclass
class OpenCode:
    worker: psutil.Process
    client: httpx.AsyncClient
    project: Path

    async def start(self, script: str) -> str:
        """Start a session with a title: without one, OpenCode would ask the model for it."""
        made = await self.client.post("/session", json={"title": script})
        session = str(made.raise_for_status().json()["id"])
        parts = [{"type": "text", "text": floor.prompt(script)}]
        prompt = {"model": {"providerID": "scripted", "modelID": "model"}, "parts": parts}
        (await self.client.post(f"/session/{session}/prompt_async", json=prompt)).raise_for_status()
        return session


async def compare_opencode(testbed: Testbed, ours: System) -> list[Figure]:
    """The overhead of a step, in turns with OpenCode's; nothing without npm, or if the installation fails."""
    npm = shutil.which("npm")
    if npm is None:
        print("OpenCode: not run, there is no npm here.")
        return []
    with tempfile.TemporaryDirectory(prefix="holdfast-opencode-", ignore_cleanup_errors=True) as scratch:
        program = await _installed(npm, Path(scratch))
        if program is None:
            print(f"OpenCode: not run, npm could not install {_PACKAGE}.")
            return []
        async with _served(testbed, program, Path(scratch)) as (theirs, version):
            rounds = await alternate(testbed, ours, theirs, _ROUNDS, steps=_STEPS)
    mine, other = zip(*((systems.gap(one), systems.gap(two)) for one, two in rounds), strict=True)
    ratio = median(one / two for one, two in zip(mine, other, strict=True))
    return [Figure(f"step overhead, beside OpenCode {version} (ms)", median(mine), median(other), BESIDE, ratio)]


async def _installed(npm: str, scratch: Path) -> Path | None:
    process = await asyncio.create_subprocess_exec(
        *(npm, "install", "--no-audit", "--no-fund", "--prefix", str(scratch), _PACKAGE),
        stdin=DEVNULL,
        stdout=DEVNULL,
        stderr=DEVNULL,
        cwd=scratch,
    )
    try:
        async with asyncio.timeout(_TIMEOUT):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
    program = scratch / "node_modules" / ".bin" / "opencode"
    return program if process.returncode == 0 and program.exists() else None


@asynccontextmanager
async def _served(testbed: Testbed, program: Path, scratch: Path) -> AsyncIterator[tuple[OpenCode, str]]:
    project = systems.project(testbed, "opencode")
    (project / "opencode.json").write_text(json.dumps(_config(testbed.model.url)))
    process = await asyncio.create_subprocess_exec(
        *(str(program), "serve", "--hostname", "127.0.0.1", "--port", "0"),
        env=_environment(testbed, scratch),
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=STDOUT,
        cwd=project,
        start_new_session=True,
    )
    try:
        url = await asyncio.wait_for(_address(process), _TIMEOUT)
        async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=60) as client:
            health = (await client.get("/global/health")).raise_for_status().json()
            yield OpenCode(psutil.Process(process.pid), client, project), str(health["version"])
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, 9)  # also the program in npm's wrapper
        await process.wait()


async def _address(process: asyncio.subprocess.Process) -> str:
    output = ""
    assert process.stdout is not None
    async for line in process.stdout:
        output += line.decode(errors="replace")
        if "http://" in output and output.endswith("\n"):
            return "http://" + output.partition("http://")[2].split()[0]
    raise RuntimeError(f"opencode serve has ended:\n{output[-2000:]}")


def _config(url: str) -> dict[str, object]:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": url, "apiKey": "the-script-needs-none"},
        "models": {"model": {"name": "model"}},
    }
    return {"provider": {"scripted": provider}, "snapshot": False, "autoupdate": False, "share": "disabled"}


def _environment(testbed: Testbed, scratch: Path) -> dict[str, str]:
    """Ours with another home: no settings of the user, no traces among them."""
    own = {
        name: str(scratch / name) for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")
    }
    switches = {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1", "DO_NOT_TRACK": "1"}
    return {**testbed.settings.environment, **own, **switches, "HOME": str(scratch)}
