"""The git program: the one place that starts it."""

import asyncio
import shutil
from pathlib import Path
from typing import Final

_PATIENCE: Final = 20  # seconds: a history of a million commits without a commit graph takes half of that

# A repository's own configuration can name programs: git is told to start none of them, and to fetch nothing.
_TAME: Final = (
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
    """What a reading git command prints in `directory`; None when there is no git, or it fails or takes too long."""
    program = shutil.which("git")
    if program is None:
        return None
    process = await asyncio.create_subprocess_exec(
        program,
        *_TAME,
        *arguments,
        cwd=directory,
        env=_ENVIRONMENT,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(_PATIENCE):
            output, _ = await process.communicate()
    except TimeoutError:
        return None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return output.decode("utf-8", "replace").strip() if process.returncode == 0 else None
