"""A data directory's name, which distinguishes workers with equal host names."""

import uuid
from contextlib import suppress
from pathlib import Path

from worker.stack.layout import make_directory


def existing_machine_id(home: Path) -> str | None:
    """This data directory's name, if a worker has given one."""
    with suppress(OSError):
        return (home / "machine").read_text()
    return None


def machine_id(home: Path) -> str:
    """The data directory's name; claims under another name cannot be inspected here."""
    file = home / "machine"
    if not file.exists():
        make_directory(home, 0o700)
        name = uuid.uuid4().hex
        draft = file.with_name(f".machine.{name}")
        draft.touch(0o600)
        draft.write_text(name)
        with suppress(FileExistsError):  # another process was first
            file.hardlink_to(draft)
        draft.unlink()
    return file.read_text()
