"""Complete outputs that are too long for the model, in private files."""

import asyncio
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from activities.files.safe_open import open_directory
from activities.tools.tool import ToolContext

RETENTION_SECONDS: Final = 7 * 24 * 3600  # seconds; complete outputs (opencode.md 5.1)
_PREFIX: Final = "tool_"
_CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


async def save_output(text: str, context: ToolContext) -> Path:
    path = context.workspace.tool_output / f"{_PREFIX}{context.call}"
    await asyncio.to_thread(_save, path, text)
    return path


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
