"""ConfigSources: where a session's configuration comes from (opencode.md 14.1)."""

import hashlib
from typing import Any, Final

from pydantic import JsonValue, SerializerFunctionWrapHandler, model_serializer

from workflows.domain.value import Value

_VARIABLES: Final = {  # field: variable
    "home": "HOME",
    "folder": "XDG_CONFIG_HOME",
    "file": "OPENCODE_CONFIG",
    "directory": "OPENCODE_CONFIG_DIR",
    "content": "OPENCODE_CONFIG_CONTENT",
    "permission": "OPENCODE_PERMISSION",
    "disable_project_config": "OPENCODE_DISABLE_PROJECT_CONFIG",
    "disable_claude_code": "OPENCODE_DISABLE_CLAUDE_CODE",
    "disable_claude_code_prompt": "OPENCODE_DISABLE_CLAUDE_CODE_PROMPT",
    "disable_claude_code_skills": "OPENCODE_DISABLE_CLAUDE_CODE_SKILLS",
    "disable_external_skills": "OPENCODE_DISABLE_EXTERNAL_SKILLS",
    "disable_autocompact": "OPENCODE_DISABLE_AUTOCOMPACT",
    "disable_prune": "OPENCODE_DISABLE_PRUNE",
    "ask": "--ask",
}


class ConfigSources(Value):
    """The configuration variables of the shell that started a session. Paths are absolute. `folder`: the user's
    configuration folder (`$XDG_CONFIG_HOME/opencode`). `content` and `permission`: with unresolved references; they
    hold no secrets. `ask`: permissions that a person is asked about, whatever the rules allow. `unattended`: nobody
    sat where the session began."""

    home: str
    folder: str
    file: str | None = None
    directory: str | None = None
    content: dict[str, JsonValue] | None = None
    permission: dict[str, JsonValue] | None = None
    disable_project_config: bool = False
    disable_claude_code: bool = False
    disable_claude_code_prompt: bool = False
    disable_claude_code_skills: bool = False
    disable_external_skills: bool = False
    disable_autocompact: bool = False
    disable_prune: bool = False
    ask: tuple[str, ...] = ()
    unattended: bool = False

    @model_serializer(mode="wrap")
    def _compact(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without the last four the bytes, and so the digest, are those of sources that could not have them."""
        added = ("disable_autocompact", "disable_prune", "ask", "unattended")
        return {name: value for name, value in handler(self).items() if name not in added or value}

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()

    def differences(self, other: "ConfigSources") -> tuple[str, ...]:
        return tuple(
            variable for field, variable in _VARIABLES.items() if getattr(self, field) != getattr(other, field)
        )

    def changed_from(self, known: "ConfigSources | None") -> tuple[str, ...]:
        """All set variables if `known` is None."""
        if known is not None:
            return self.differences(known)
        return tuple(variable for field, variable in _VARIABLES.items() if getattr(self, field))
