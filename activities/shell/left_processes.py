"""Processes that ended calls have left running: their supervisor adopts them, and lives as long as they do (Linux)."""

from pathlib import Path
from typing import Final

from activities.shell.lease import CallDirectory
from activities.shell.supervisor.process import command_line, descendants, pids
from workflows.domain.ids import PartId
from workflows.domain.views.sessions import LeftProcess

_COMMAND: Final = 200  # characters


def find_left(data: Path) -> list[LeftProcess]:
    """Of all calls whose files are in `data`, by their running supervisors: those are few, the files thousands."""
    launched = [words for pid in pids() if len(words := command_line(pid)) > 1 and words[-1].startswith("order-")]
    directories = {CallDirectory(data / "calls" / Path(words[-2]).name) for words in launched}
    return [left for each in sorted(directories, key=lambda each: each.path) for left in left_by(each)]


def left_by(directory: CallDirectory) -> list[LeftProcess]:
    """Parents first; none of a call that has not ended."""
    lease = directory.lease()
    if lease is None or lease.supervisor is None or lease.session is None or directory.end() is None:
        return []
    found = [(pid, " ".join(command_line(pid)).split()) for pid in descendants(lease.supervisor.pid)]
    if not lease.supervisor.alive():  # its pid may be another's
        return []
    of_call = {"session": lease.session, "call": PartId(directory.path.name)}
    return [LeftProcess(**of_call, pid=pid, command=" ".join(words)[:_COMMAND]) for pid, words in found if words]
