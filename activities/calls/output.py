"""What a model gets of a call's output. Complete outputs that are too long for it are in private files."""

import asyncio
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from activities.files.safe_open import open_directory
from activities.tools.tool import Output, ToolContext
from prompts import render_prompt
from workflows.domain.context.truncate import excerpt
from workflows.domain.messages import Outcome

RETENTION_SECONDS: Final = 7 * 24 * 3600  # seconds; complete outputs (opencode.md 5.1)
_PREFIX: Final = "tool_"
_CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


async def outcome_of(output: Output, context: ToolContext) -> Outcome:
    """A successful call's outcome: shortened for the model and complete in a file, unless the tool has done that."""
    outcome = Outcome(**{name: getattr(output, name) for name in Output.model_fields if name != "truncated"})
    done = output.truncated or "truncated" in output.metadata
    shown = excerpt(output.output, context.turn.limits)
    if done or shown.part is None:
        return outcome
    path = context.workspace.tool_output / f"{_PREFIX}{context.call}"
    await asyncio.to_thread(_save, path, output.output)
    note = render_prompt("tools/truncated", part=shown.part, path=str(path))
    metadata = {**output.metadata, "truncated": True, "outputPath": str(path)}
    changed = {"output": f"{note}\n\n{shown.text}", "reminder_at": None, "metadata": metadata}
    return outcome.model_copy(update=changed)


def delete_old_outputs(folder: Path, now: float) -> list[str]:
    """Returns the deleted names. `now`: seconds since 1970."""
    deleted = []
    for file in folder.glob(f"{_PREFIX}*"):
        with suppress(FileNotFoundError):  # workers that share the folder delete concurrently
            if now - file.lstat().st_mtime > RETENTION_SECONDS:
                file.unlink()
                deleted.append(file.name)
    return deleted


def _save(path: Path, text: str) -> None:
    """Replaces the private file of an earlier attempt."""
    with open_directory(path.parent, create=True) as folder:
        os.fchmod(folder, 0o700)
        with suppress(FileNotFoundError):
            os.unlink(path.name, dir_fd=folder)
        descriptor = os.open(path.name, _CREATE, 0o600, dir_fd=folder)
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode("utf-8", "surrogatepass"))
