"""Temporal from the SDK's own downloader, in a process of its own because the downloader can take it down."""

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from worker.settings import Settings
from worker.stack.binaries.children import running
from workflows.domain.errors import Unavailable

_PATIENCE: Final = 300.0  # seconds


async def download(settings: Settings, scratch: Path, say: Callable[[str], None]) -> Path:
    """Let the SDK download the program; its path. Raises Unavailable with the reason if it cannot be."""
    say("Downloading the Temporal server.")
    argv = (sys.executable, "-P", "-m", __name__, str(scratch))
    async with running(*argv, environment=settings.environment) as process:
        try:
            said, _ = await asyncio.wait_for(process.communicate(), _PATIENCE)
        except TimeoutError:
            raise Unavailable(f"the download did not end within {_PATIENCE:.0f} s") from None
    if brought := await asyncio.to_thread(lambda: list(scratch.glob("temporal*"))):
        return brought[0]
    lines = said.decode(errors="replace").strip().splitlines() or [f"ended with code {process.returncode}"]
    raise Unavailable(f"the SDK could not download it: {lines[-1]}")


async def _main(directory: str) -> None:
    from temporalio.testing import WorkflowEnvironment  # a second to import, and only this process needs it

    environment = await WorkflowEnvironment.start_local(download_dest_dir=directory)
    await environment.shutdown()


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1]))
