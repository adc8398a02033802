"""Recognizes a stack's belongings by content."""

import json
from collections.abc import Collection
from pathlib import Path
from typing import Final

# What a stack makes in its home. Not archives: each may be a session's only copy.
HOME_ENTRIES: Final = {
    "temporal": "Temporal's file: workflow runs and their histories",
    "calls": "what commands have written",
    "tool-output": "the complete outputs of tools",
    "web": "copies of files that configurations fetch by URL",
    "logs": "the logs of the processes",
    "models.json": "the table of models that was fetched",
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

_STARTED_HOME: Final = frozenset({"up.lock", "logs", "temporal"})  # what `up` makes first
_RUNNING_HOME: Final = frozenset({"stack.json", "supervisor.lock"})
_KEY_FILES: Final = frozenset({"auth.json", "keys.json"})
_MAX_KEY_FILE: Final = 2**20  # bytes
_KEY_FIELDS: Final = frozenset({"key", "access", "refresh", "token"})


def is_home(names: Collection[str]) -> bool:
    """Whether these entries are a stack's home, maybe among others."""
    present = frozenset(names)
    return present >= _STARTED_HOME or present >= _RUNNING_HOME


def is_partial_home(names: Collection[str], database: str) -> bool:
    """Whether an `up` killed early left exactly these entries."""
    present = frozenset(names)
    return present == {"up.lock"} or _STARTED_HOME <= present <= {*HOME_ENTRIES, ARCHIVES, database}


def holds_cluster(root: Path) -> bool:
    """Whether it holds its database, even unfinished."""
    return (root / "HOME").is_file() or (root / "data" / "PG_VERSION").is_file() or (root / "data.new").is_dir()


def holds_any_cluster(directory: Path, names: Collection[str]) -> bool:
    """Whether these entries hold any stack's database; root's are outside of the home."""
    return "HOME" in names and ((directory / "data" / "PG_VERSION").exists() or "data.new" in names)


def is_key_file(path: Path) -> bool:
    """Whether it is an `auth.json` in OpenCode's form, or handed-over keys; unreadable files of that name count."""
    if path.name not in _KEY_FILES:
        return False
    try:
        with path.open("rb") as file:
            entries = json.loads(file.read(_MAX_KEY_FILE))
    except (ValueError, RecursionError):
        return False
    except OSError:
        return True
    if not isinstance(entries, dict) or not entries:
        return False
    if path.name == "keys.json":
        return path.parent.name == "run" and all(isinstance(value, str) for value in entries.values())
    return all(isinstance(value, dict) and value.keys() & _KEY_FIELDS for value in entries.values())
