"""Play OpenCode in the repositories, and keep the structure of its requests: `tests/data/opencode_requests`.

CONTRIBUTING.md says how. Recorded with 1.18.33 of the npm package opencode-ai, which opencode.md describes.
"""

import asyncio
import json
import os
import sys
import tempfile
from collections import deque
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from tests.opencode_comparison.repositories import Repository, Run, repositories
from tests.opencode_comparison.request_structure import RequestReader
from worker.scripted.model_server import ModelServer, serve

KEPT: Final = Path(__file__).parents[1] / "data" / "opencode_requests"
MODEL: Final = "scripted/model"
_PATIENCE: Final = 60.0  # seconds for a run


async def record(program: Path) -> None:
    KEPT.mkdir(exist_ok=True)
    for repository in repositories():
        with tempfile.TemporaryDirectory(prefix="beside-") as scratch:
            played = await play(repository, program, Path(scratch))
        (KEPT / f"{repository.name}.json").write_text(json.dumps(played, indent=1, ensure_ascii=False) + "\n", "utf-8")


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
