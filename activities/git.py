"""Runs git."""

import asyncio
import shutil
from pathlib import Path
from typing import Final

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
    process = await asyncio.create_subprocess_exec(
        program,
        *_SAFE_OPTIONS,
        *arguments,
        cwd=directory,
        env=_ENVIRONMENT,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(_TIMEOUT):
            output, _ = await process.communicate()
    except TimeoutError:
        return None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return output.decode("utf-8", "replace").strip() if process.returncode == 0 else None
