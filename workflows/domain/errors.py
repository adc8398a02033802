"""Our errors, one family.

HoldfastError
├── UsageError            what a person typed or wrote is wrong; says where and what to do
│   ├── ConfigError       a configuration file: file, line, field
│   └── UnknownAgent      an agent that does not exist, or that people may not choose
├── NotFound              a session, ask, turn or grant that does not exist
├── Conflict              the thing exists, but is no longer in the state that the request needs
├── ToolError             what a model reads when its call failed
├── StaleFence            a higher fence, a later chain or an ended turn: touch nothing more
└── Unavailable           the database, the engine or the stack cannot be reached just now
"""

from collections.abc import Iterable, Mapping
from typing import Any


class HoldfastError(Exception):
    """Root of every error that Holdfast raises on purpose."""


class UsageError(HoldfastError):
    """What a person typed or wrote is wrong."""


class ConfigError(UsageError):
    """A configuration file is wrong: the message names the file, the line and the field."""


class UnknownAgent(UsageError):
    """An agent cannot work here: `problem` is a sentence, `available` are the names to choose from."""

    def __init__(self, problem: str, available: Iterable[str]) -> None:
        super().__init__(f"{problem} Available agents: {', '.join(sorted(available)) or 'none'}.")


class NotFound(HoldfastError):
    """There is no such session, ask, turn or grant."""


class Conflict(HoldfastError):
    """The thing exists, but is no longer in the state that the request needs."""


class ToolError(HoldfastError):
    """A tool call failed in a way the model should read; nothing is retried. `metadata` is for people and clients."""

    def __init__(self, message: str, metadata: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.metadata = dict(metadata or {})


class StaleFence(HoldfastError):
    """The caller has been overtaken by a higher fence, a later chain, or the end of its turn."""


class Unavailable(HoldfastError):
    """The database, the engine or the stack cannot be reached just now."""
