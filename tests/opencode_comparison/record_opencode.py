"""Play OpenCode in the repositories, and keep the structure of its requests: `tests/data/opencode_requests`; and the
forms of sessions, messages and parts in its own description of its server: `tests/data/opencode_schema.json`.

CONTRIBUTING.md says how. Recorded with 1.18.33 of the npm package opencode-ai, which opencode.md describes.
"""

import asyncio
import json
import os
import re
import sys
import tempfile
from asyncio.subprocess import DEVNULL, PIPE
from collections import deque
from pathlib import Path
from typing import Final

import httpx
from pydantic import JsonValue

from tests.opencode_comparison.repositories import Repository, Run, repositories
from tests.opencode_comparison.request_structure import RequestReader
from worker.scripted.model_server import ModelServer, serve

KEPT: Final = Path(__file__).parents[1] / "data" / "opencode_requests"
SCHEMA: Final = KEPT.with_name("opencode_schema.json")
MODEL: Final = "scripted/model"
_PATIENCE: Final = 60.0  # seconds for a run


async def record(program: Path) -> None:
    KEPT.mkdir(exist_ok=True)
    for repository in repositories():
        with tempfile.TemporaryDirectory(prefix="beside-") as scratch:
            played = await play(repository, program, Path(scratch))
        (KEPT / f"{repository.name}.json").write_text(json.dumps(played, indent=1, ensure_ascii=False) + "\n", "utf-8")
    with tempfile.TemporaryDirectory(prefix="beside-") as scratch:
        described = exported_forms(await describe_server(program, Path(scratch)))
    SCHEMA.write_text(json.dumps({"$defs": described}, indent=1, sort_keys=True) + "\n", "utf-8")


async def play(repository: Repository, program: Path, scratch: Path) -> dict[str, JsonValue]:
    """The requests of each run."""
    home, root = scratch / "home", scratch / "project"
    directory = repository.install(home, root)
    reader = RequestReader(root, home, repository.texts())
    async with serve(repository.scripts(root)) as model:
        _configure(home, model.url)
        return {run.name: await _requests(run, program, home, directory, model, reader) for run in repository.runs}


async def _requests(
    run: Run, program: Path, home: Path, directory: Path, model: ModelServer, reader: RequestReader
) -> JsonValue:
    model.received = deque()
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "OPENCODE_DISABLE_MODELS_FETCH": "1"}
    typed = ["run", "--model", MODEL, *run.flags, "--", run.text]
    process = await asyncio.create_subprocess_exec(program, *typed, cwd=directory, env=environment)
    async with asyncio.timeout(_PATIENCE):
        await process.wait()
    return [reader.structure(request.body) for request in model.received if request.body.get("tools")]


async def describe_server(program: Path, home: Path) -> dict[str, JsonValue]:
    """The schemas of its OpenAPI document, by their names."""
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "OPENCODE_DISABLE_MODELS_FETCH": "1"}
    typed = ("serve", "--port", "0")
    process = await asyncio.create_subprocess_exec(
        program, *typed, cwd=home, env=environment, stdout=PIPE, stderr=DEVNULL
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(_PATIENCE), httpx.AsyncClient() as client:
            while not (line := await process.stdout.readline()).startswith(b"opencode server listening"):
                assert line, "the server has ended"
            document = await client.get(line.decode().split()[-1] + "/doc")
    finally:
        process.kill()
        await process.wait()
    schemas: dict[str, JsonValue] = json.loads(document.text.replace("#/components/schemas/", "#/$defs/"))[
        "components"
    ]["schemas"]
    return schemas


def exported_forms(schemas: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Those that an export consists of, and what they refer to."""
    found: dict[str, JsonValue] = {}
    missing = {"Session", "Message", "Part"}
    while missing:
        found |= {name: schemas[name] for name in missing}
        missing = set(re.findall(r'"#/\$defs/(\w+)"', json.dumps(found))) - found.keys()
    return found


def _configure(home: Path, url: str) -> None:
    """Add the scripted model to the person's own configuration."""
    file = home / ".config" / "opencode" / "config.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    provider = {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": url, "apiKey": "test-key"}}
    models = {"model": {"name": "model", "limit": {"context": 128_000, "output": 8_000}}}
    known = {"autoupdate": False, "share": "disabled", "provider": {"scripted": {**provider, "models": models}}}
    file.write_text(json.dumps(known), "utf-8")


if __name__ == "__main__":
    asyncio.run(record(Path(sys.argv[1]).absolute()))
