"""Agent: who works in a turn (opencode.md 1)."""

import re
from enum import StrEnum
from typing import Final

from pydantic import JsonValue

from workflows.domain.permissions.rules import Ruleset
from workflows.domain.value import Value

_FAMILY: Final = re.compile(r"([a-z]{3,})(\[1m\])?")  # as Claude Code writes it: `sonnet`, `opus[1m]`


def family_of(model: str | None) -> str | None:
    """The family that a configured model is, if it names one and no model."""
    return found[1] if model is not None and (found := _FAMILY.fullmatch(model)) else None


class AgentMode(StrEnum):
    """Whom an agent works for: people (primary), other agents (subagent), or both."""

    PRIMARY = "primary"
    SUBAGENT = "subagent"
    ALL = "all"


class Agent(Value):
    """`variant`: of any model that has one of this name. `options` go to the model, over its own. `prompt`: of the
    configuration, else of `prompt_file` in `prompts/agents/`, else that of its model's family. `rules` come after those
    of every agent and before the configuration's; `firm_rules` once more, before those of its own section.
    `named_permissions`: those that its settings in the user's own files
    name. `only_plans`: it is reminded that it changes nothing. `display_name` and `color` are for people."""

    name: str
    display_name: str | None = None
    color: str | None = None
    mode: AgentMode = AgentMode.ALL
    description: str | None = None
    model: str | None = None
    variant: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    options: dict[str, JsonValue] = {}
    steps: int | None = None
    prompt: str | None = None
    prompt_file: str | None = None
    only_plans: bool = False
    rules: Ruleset = ()
    firm_rules: Ruleset = ()
    named_permissions: tuple[str, ...] = ()
    hidden: bool = False

    @property
    def selectable(self) -> bool:
        """Whether people can choose it."""
        return self.mode is not AgentMode.SUBAGENT

    @property
    def model_family(self) -> str | None:
        """What stands in the place of a model, and means the newest one of a family."""
        return family_of(self.model)

    def names_permission(self, permission: str) -> bool:
        """Whether its own rules or the user's settings for it name a permission."""
        return permission in self.named_permissions or any(rule.permission == permission for rule in self.rules)


class RefusedAgent(Value):
    """No agent has these names until the file is fixed, not even a built-in one: a rule of the file may be about it.
    `why` begins with the file."""

    names: tuple[str, ...]
    why: str
