"""Runs git."""

import shutil
from pathlib import Path
from typing import Final

from activities.child_process import running_child

_TIMEOUT: Final = 20  # seconds: twice what a history of a million commits takes without a commit graph

# A repository's own configuration can name programs: git starts none of them, and fetches nothing.
_SAFE_OPTIONS: Final = (
    "--no-pager",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "protocol.allow=never",
    "-c",
    "safe.bareRepository=explicit",
)
_ENVIRONMENT: Final = {"LC_ALL": "C", "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1"}


async def git(directory: Path, *arguments: str) -> str | None:
    """The output; None without git, on failure, or on a timeout."""
    program = shutil.which("git")
    if program is None:
        return None
    argv = (program, *_SAFE_OPTIONS, *arguments)
    try:
        async with running_child(*argv, directory=directory, environment=_ENVIRONMENT, timeout=_TIMEOUT) as process:
            output, _ = await process.communicate()
    except TimeoutError:
        return None
    return output.decode("utf-8", "replace").strip() if process.returncode == 0 else None
