"""What belongs to stacks, told by how it looks: a home, a database, files of keys."""

import json
from collections.abc import Collection
from pathlib import Path
from typing import Final

# What a stack makes in its home. Archives are not among it: each may be the only copy of a session.
MADE: Final = {
    "temporal": "Temporal's file: workflow runs and their histories",
    "calls": "what commands have written",
    "tool-output": "the complete outputs of tools",
    "logs": "the logs of the processes",
    "auth.json": "the keys of `holdfast auth login`",
    "run": "keys that shells have handed over",
    "stack.json": "the state of the stack",
    "ports.json": "its ports",
    "machine": "its name",
    "supervisor.lock": "a lock",
    "up.lock": "a lock",
}
ARCHIVES: Final = "archive"
DATABASE: Final = "postgres"

_BEGUN: Final = frozenset({"up.lock", "logs", "temporal"})  # what `up` makes before it says a word
_SERVED: Final = frozenset({"stack.json", "supervisor.lock"})
_KEY_FILES: Final = frozenset({"auth.json", "keys.json"})
_LARGEST_KEY_FILE: Final = 2**20  # bytes
_KEY_FIELDS: Final = frozenset({"key", "access", "refresh", "token"})


def is_home(names: Collection[str]) -> bool:
    """Whether a directory with these entries is a stack's home, or was one before somebody put more into it."""
    present = frozenset(names)
    return present >= _BEGUN or present >= _SERVED


def is_begun_home(names: Collection[str], database: str) -> bool:
    """Whether an `up` that was killed before its stack said a word has made this: all it makes is there, and nothing
    of anybody else."""
    present = frozenset(names)
    return present == {"up.lock"} or _BEGUN <= present <= {*MADE, ARCHIVES, database}


def is_cluster(root: Path) -> bool:
    """Whether this directory of a stack holds its database, or the beginning of one."""
    return (root / "HOME").is_file() or (root / "data" / "PG_VERSION").is_file() or (root / "data.new").is_dir()


def is_anybodys_cluster(directory: Path, names: Collection[str]) -> bool:
    """Whether any directory with these entries holds a stack's database, as root's do outside of the home."""
    return "HOME" in names and ((directory / "data" / "PG_VERSION").exists() or "data.new" in names)


def is_key_file(path: Path) -> bool:
    """Whether this is a file of keys: an `auth.json` in the form that OpenCode shares, or keys that were handed over.

    A file of such a name that nobody may read is taken for one.
    """
    if path.name not in _KEY_FILES:
        return False
    try:
        with path.open("rb") as file:
            entries = json.loads(file.read(_LARGEST_KEY_FILE))
    except (ValueError, RecursionError):
        return False
    except OSError:
        return True
    if not isinstance(entries, dict) or not entries:
        return False
    if path.name == "keys.json":
        return path.parent.name == "run" and all(isinstance(value, str) for value in entries.values())
    return all(isinstance(value, dict) and value.keys() & _KEY_FIELDS for value in entries.values())
