"""Where a turn works, and what it may do there."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path

from activities.files.workspace import Workspace
from workflows.domain.agents.delegation import Delegation
from workflows.domain.config.config import WebSettings
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.context.truncate import OutputLimits
from workflows.domain.output_format import OutputFormat
from workflows.domain.permissions import permission_keys
from workflows.domain.permissions.findings import Finding
from workflows.domain.permissions.requests import PermissionRequest
from workflows.domain.permissions.rules import Action, rules_about
from workflows.domain.permissions.rulesets import Rulesets
from workflows.domain.permissions.wildcard import matches
from workflows.domain.skills import Skill


def output_limits(turn_config: TurnConfig) -> OutputLimits:
    """The limits of what the model gets of a call's output."""
    return OutputLimits.model_validate(turn_config.config.tool_output.model_dump(exclude_none=True))


@dataclass(frozen=True)
class TurnContext:
    """`rules`: of the turn's agent and session; they also hide files from searches. `delegation`: the agents that it
    may hand work to. `limits`: of a call's output for the model. `format`: of the result that the turn owes. `skills`:
    of its directory. `instruction_names`: the files that a read attaches, but for `instruction_files`, which the model
    has been told. `web`: the hosts that a person has named, and who searches."""

    workspace: Workspace
    rules: Rulesets = Rulesets()
    delegation: Delegation = Delegation()
    limits: OutputLimits = OutputLimits()
    format: OutputFormat | None = None
    skills: tuple[Skill, ...] = ()
    instruction_names: tuple[str, ...] = ()
    instruction_files: tuple[str, ...] = ()
    web: WebSettings = WebSettings()

    @classmethod
    def from_config(cls, workspace: Workspace, turn_config: TurnConfig) -> "TurnContext":
        return cls(
            workspace=workspace,
            rules=turn_config.rules,
            delegation=turn_config.delegation,
            limits=output_limits(turn_config),
            format=turn_config.format,
            skills=turn_config.skills,
            instruction_names=turn_config.instruction_names,
            instruction_files=tuple(each.path for each in turn_config.instructions),
            web=turn_config.config.holdfast.web,
        )

    def open_to(self, agent: str) -> "TurnContext":
        """For a subtask: a person may give one to any agent."""
        return replace(self, delegation=self.delegation.open_to(agent))

    @cached_property
    def denies_any_read(self) -> bool:
        return any(rule.action is Action.DENY for rule in rules_about(permission_keys.READ, self.rules.flat))

    def may_read(self, path: Path) -> bool:
        return not self.denies_any_read or self._read_action(path) is not Action.DENY

    @cached_property
    def _restricting_patterns(self) -> tuple[str, ...]:
        """The patterns that ask or deny, in lower case."""
        found = set[str]()
        for judged in self.rules.sets:
            rules = rules_about(permission_keys.READ, judged.rules)
            last = max((at for at, rule in enumerate(rules) if rule.pattern == "*" and not rule.unless), default=0)
            found |= {rule.pattern.casefold() for rule in rules[last:] if rule.action is not Action.ALLOW}
        return tuple(found)

    @property
    def restricts_any_read(self) -> bool:
        return bool(self._restricting_patterns)

    def may_restrict(self, path: Path) -> bool:
        """Whether a restricting rule may match the path: a cheap pre-check."""
        name = self.workspace.relative(path).casefold()
        return any(matches(name, pattern) for pattern in self._restricting_patterns)

    def asks_before_read(self, path: Path) -> bool:
        return bool(self.rules.sets) and self._read_action(path) is Action.ASK

    def search_filter(self, root: Path) -> Callable[[Path], bool]:
        """Which files a search of the real path `root` may show: none that a rule denies to read or asks about, unless
        the same rule has asked about `root`."""
        asked = self._read_findings(root)

        @lru_cache  # called for each matching line of a file
        def shown(path: Path) -> bool:
            found = zip(self._read_findings(path), asked, strict=True)
            return all(
                each.action is Action.ALLOW or (each.action is Action.ASK and each == above) for each, above in found
            )

        return shown

    def _read_action(self, path: Path) -> Action:
        return max((each.action for each in self._read_findings(path)), key=lambda each: each.strictness)

    def _read_findings(self, path: Path) -> list[Finding]:
        request = PermissionRequest(permission=permission_keys.READ, patterns=(self.workspace.relative(path),))
        return self.rules.findings(request)
