"""A backup with the image's programs, and its restore."""

import re
from pathlib import Path
from typing import Final

from tests.harness import Harness
from tests.production.production_servers import RunningServers, run_program

_CAME_BACK: Final = re.compile(r"came back: (\d+)\. Chains that are whole: (\d+)\.")


async def check_backup(harness: Harness, served: RunningServers, installed: Path, directory: Path) -> list[str]:
    """Back up all sessions and restore them into an empty database; what does not hold."""
    sessions = len(await harness.client.sessions.list_recent())
    program, own = installed / "holdfast", {**harness.settings.environment, "HOLDFAST_WORKER": "false"}
    file = directory / "backup.tar"
    await run_program(program, "backup", file, env=own, cwd=directory, quiet=True)
    anew = {**own, "HOLDFAST_HOME": str(directory / "restored"), "HOLDFAST_POSTGRES_URL": served.empty_url}
    said = await run_program(program, "restore", file, env=anew, cwd=directory, quiet=True)
    found = _CAME_BACK.search(said)
    if found is None or {int(count) for count in found.groups()} != {sessions}:
        return [f"of {sessions} sessions the backup brought back: {said.strip()}"]
    return []
