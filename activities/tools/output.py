"""What a model gets back: long output shortened, with all of it in a file."""

import asyncio
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

import prompts
from activities.files.opening import directory
from activities.tools.tool import Output, Surroundings
from workflows.domain.context.truncate import truncate
from workflows.domain.messages import Outcome

RETENTION: Final = 7 * 24 * 3600  # seconds that complete outputs are kept (opencode.md 5.1)
_PREFIX: Final = "tool_"
_CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


async def shortened(output: Output, around: Surroundings) -> Outcome:
    """The outcome of a call that succeeded; a tool that says itself whether it truncated is left alone."""
    outcome = Outcome(
        title=output.title, output=output.output, metadata=output.metadata, attachments=output.attachments
    )
    cut = None if output.truncated or "truncated" in output.metadata else truncate(output.output, around.limits)
    if cut is None:
        return outcome
    path = around.place.tool_output / f"{_PREFIX}{around.call}"
    await asyncio.to_thread(_save, path, output.output)
    text = cut.around(prompts.load("tools/truncated", path=str(path)))
    return outcome.model_copy(
        update={"output": text, "metadata": {**output.metadata, "truncated": True, "outputPath": str(path)}}
    )


def forget_old(folder: Path, now: float) -> list[str]:
    """Remove complete outputs that are older than RETENTION (`now` in seconds since 1970); their names."""
    forgotten = []
    for file in folder.glob(f"{_PREFIX}*"):
        with suppress(FileNotFoundError):  # workers that share the folder forget at the same time
            if now - file.lstat().st_mtime > RETENTION:
                file.unlink()
                forgotten.append(file.name)
    return forgotten


def _save(path: Path, text: str) -> None:
    """Write a private file in our private directory; a file that an earlier attempt left there is replaced."""
    with directory(path.parent, create=True) as folder:
        os.fchmod(folder, 0o700)
        with suppress(FileNotFoundError):
            os.unlink(path.name, dir_fd=folder)
        descriptor = os.open(path.name, _CREATE, 0o600, dir_fd=folder)
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode("utf-8", "surrogatepass"))
