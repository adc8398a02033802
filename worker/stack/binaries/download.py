"""Runs the SDK's downloader of Temporal in its own process, because it can crash."""

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from worker.settings import Settings
from worker.stack import child_programs
from workflows.domain.errors import Unavailable

_DOWNLOAD_TIMEOUT: Final = 300.0  # seconds


async def download(settings: Settings, scratch: Path, report: Callable[[str], None]) -> Path:
    """Returns the program's path. Raises Unavailable with the reason."""
    report("Downloading the Temporal server.")
    argv = (sys.executable, "-P", "-m", __name__, str(scratch))
    try:
        async with asyncio.timeout(_DOWNLOAD_TIMEOUT):
            code, output = await child_programs.run(*argv, environment=settings.environment)
    except TimeoutError:
        raise Unavailable(f"the download did not end within {_DOWNLOAD_TIMEOUT:.0f} s") from None
    if downloaded := await asyncio.to_thread(lambda: list(scratch.glob("temporal*"))):
        return downloaded[0]
    lines = output.splitlines() or [f"ended with code {code}"]
    raise Unavailable(f"the SDK could not download it: {lines[-1]}")


async def _main(directory: str) -> None:
    from temporalio.testing import WorkflowEnvironment  # takes a second, only this process needs it

    environment = await WorkflowEnvironment.start_local(download_dest_dir=directory)
    await environment.shutdown()


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1]))
