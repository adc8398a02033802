"""A backup by what the image holds, and a new database made of it."""

import re
from pathlib import Path
from typing import Final

from tests.house import House
from tests.production.servers import Served, done

_CAME_BACK: Final = re.compile(r"came back: (\d+)\. Chains that are whole: (\d+)\.")


async def kept(house: House, served: Served, installed: Path, directory: Path) -> list[str]:
    """Back up all sessions of a house, and restore them into an empty database; what does not hold."""
    sessions = len(await house.client.sessions())
    program, own = installed / "holdfast", {**house.settings.environment, "HOLDFAST_WORKER": "false"}
    file = directory / "backup.tar"
    await done(program, "backup", file, env=own, cwd=directory, quiet=True)
    anew = {**own, "HOLDFAST_HOME": str(directory / "restored"), "HOLDFAST_POSTGRES_URL": served.empty_url}
    said = await done(program, "restore", file, env=anew, cwd=directory, quiet=True)
    found = _CAME_BACK.search(said)
    if found is None or {int(count) for count in found.groups()} != {sessions}:
        return [f"of {sessions} sessions the backup brought back: {said.strip()}"]
    return []
