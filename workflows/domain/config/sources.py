"""ConfigSources: where the configuration of a session is looked for (opencode.md 14.1)."""

import hashlib
from typing import Final

from pydantic import JsonValue

from workflows.domain.value import Value

_VARIABLES: Final = {  # which variable says what
    "home": "HOME",
    "folder": "XDG_CONFIG_HOME",
    "file": "OPENCODE_CONFIG",
    "directory": "OPENCODE_CONFIG_DIR",
    "content": "OPENCODE_CONFIG_CONTENT",
    "permission": "OPENCODE_PERMISSION",
    "disable_project_config": "OPENCODE_DISABLE_PROJECT_CONFIG",
    "disable_claude_code": "OPENCODE_DISABLE_CLAUDE_CODE",
    "disable_claude_code_prompt": "OPENCODE_DISABLE_CLAUDE_CODE_PROMPT",
}


class ConfigSources(Value):
    """What the variables of one shell say about configuration: a session keeps those of the shell that started it.

    Paths are absolute. `folder` is the user's own configuration folder (`$XDG_CONFIG_HOME/opencode`), `file` and
    `directory` come from `OPENCODE_CONFIG` and `OPENCODE_CONFIG_DIR`. `content` and `permission` are the values of
    `OPENCODE_CONFIG_CONTENT` and `OPENCODE_PERMISSION` themselves: they hold no secrets, and their references stand in
    them as they were written.
    """

    home: str
    folder: str
    file: str | None = None
    directory: str | None = None
    content: dict[str, JsonValue] | None = None
    permission: dict[str, JsonValue] | None = None
    disable_project_config: bool = False
    disable_claude_code: bool = False
    disable_claude_code_prompt: bool = False

    @property
    def digest(self) -> str:
        """SHA-256, in hex; equal for equal sources."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()

    def differing(self, other: "ConfigSources") -> tuple[str, ...]:
        """The variables about which these sources and the other ones differ."""
        return tuple(
            variable for field, variable in _VARIABLES.items() if getattr(self, field) != getattr(other, field)
        )

    def changed_from(self, known: "ConfigSources | None") -> tuple[str, ...]:
        """The variables that say something new; all that are set, where nothing is known of before."""
        if known is not None:
            return self.differing(known)
        return tuple(variable for field, variable in _VARIABLES.items() if getattr(self, field))
