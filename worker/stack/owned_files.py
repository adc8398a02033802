"""Recognizes a stack's belongings by content."""

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
    "history": "prompts that were typed on terminals",
    "run": "keys that shells have handed over",
    "stack.json": "the state of the stack",
    "ports.json": "its ports",
    "machine": "its name",
    "supervisor.lock": "a lock",
    "up.lock": "a lock",
}
ARCHIVES: Final = "archive"

_STARTED_HOME: Final = frozenset({"up.lock", "logs", "temporal"})  # what `up` makes first


def is_partial_home(names: Collection[str], database: str) -> bool:
    """Whether an `up` killed early left exactly these entries."""
    present = frozenset(names)
    return present == {"up.lock"} or _STARTED_HOME <= present <= {*HOME_ENTRIES, ARCHIVES, database}


def holds_cluster(root: Path) -> bool:
    """Whether it holds its database, even unfinished."""
    return (root / "HOME").is_file() or (root / "data" / "PG_VERSION").is_file() or (root / "data.new").is_dir()
