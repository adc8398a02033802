"""The directories of a session: where it works, and those of Holdfast that its tools may use."""

import os.path
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from workflows.domain.agents.delegation import Delegation
from workflows.domain.permissions.findings import Finding, evaluate_request
from workflows.domain.permissions.requests import PermissionRequest
from workflows.domain.permissions.rules import Action, Ruleset, rules_about
from workflows.domain.permissions.wildcard import matches


@dataclass(frozen=True)
class Workspace:
    """The directories of a session, absolute and resolved, and the rules of its turn.

    `worktree`: root of the git work tree around `directory`, if any. `data`: Holdfast's data directory, with complete
    outputs in `tool-output` and the private directories of calls in `calls`. `rules`: hide files from searches.
    `delegation`: the agents that the turn may hand work to.
    """

    directory: Path
    worktree: Path | None
    data: Path
    home: Path
    temporary: Path
    rules: Ruleset = ()
    delegation: Delegation = Delegation()

    @property
    def root(self) -> Path:
        """The base of relative paths in permissions, titles and diffs."""
        return self.worktree or self.directory

    @property
    def tool_output(self) -> Path:
        return self.data / "tool-output"

    def relative(self, path: Path) -> str:
        """`path` in permission patterns and titles: relative to the root, `../x` outside."""
        return os.path.relpath(path, self.root)

    @cached_property
    def denies_any_read(self) -> bool:
        """Whether any rule denies reading something."""
        return any(rule.action is Action.DENY for rule in rules_about("read", self.rules))

    def may_read(self, path: Path) -> bool:
        """Whether no rule denies reading a real path."""
        return not self.denies_any_read or self._read_finding(path).action is not Action.DENY

    @cached_property
    def _restricting_patterns(self) -> tuple[str, ...]:
        """Patterns of the rules that may deny reading a file or ask about it, in lower case."""
        rules = rules_about("read", self.rules)
        last = max((at for at, rule in enumerate(rules) if rule.pattern == "*" and not rule.unless), default=0)
        return tuple({rule.pattern.casefold() for rule in rules[last:] if rule.action is not Action.ALLOW})

    @property
    def restricts_any_read(self) -> bool:
        """Whether any rule denies reading something, or asks about it."""
        return bool(self._restricting_patterns)

    def may_restrict(self, path: Path) -> bool:
        """Whether a restricting rule may match the path: a cheap pre-check."""
        name = self.relative(path).casefold()
        return any(matches(name, pattern) for pattern in self._restricting_patterns)

    def asks_before_read(self, path: Path) -> bool:
        """Whether a rule asks before a real path is read."""
        return bool(self.rules) and self._read_finding(path).action is Action.ASK

    def search_filter(self, root: Path) -> Callable[[Path], bool]:
        """Which files a search of the real path `root` may show: none that a rule denies to read or asks about, unless
        the same rule has asked about `root`."""
        asked = self._read_finding(root).rule

        @lru_cache  # called for each matching line of a file
        def shown(path: Path) -> bool:
            found = self._read_finding(path)
            return found.action is Action.ALLOW or (found.action is Action.ASK and found.rule == asked)

        return shown

    def title(self, path: Path) -> str:
        """`path` as the title of a call; empty for the root."""
        return "" if path == self.root else self.relative(path)

    def _read_finding(self, path: Path) -> Finding:
        return evaluate_request(PermissionRequest(permission="read", patterns=(self.relative(path),)), self.rules)
