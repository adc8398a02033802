"""The name of a data directory on its machine: by it workers are told apart that call their hosts the same."""

import uuid
from contextlib import suppress
from pathlib import Path


def known(home: Path) -> str | None:
    """The name of this data directory, if a worker has given it one."""
    with suppress(OSError):
        return _file(home).read_text()
    return None


def machine(home: Path) -> str:
    """The name of this data directory on this machine: claims made under another one cannot be looked into here."""
    file = _file(home)
    try:
        return file.read_text()
    except FileNotFoundError:
        home.mkdir(parents=True, exist_ok=True)
        name = uuid.uuid4().hex
        draft = file.with_name(f".machine.{name}")
        draft.write_text(name)
        with suppress(FileExistsError):
            file.hardlink_to(draft)
        draft.unlink()
        return file.read_text()


def _file(home: Path) -> Path:
    return home / "machine"
