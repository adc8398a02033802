"""Where a session works: its directory, work tree, and the directories of ours that its tools may use."""

import os.path
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from workflows.domain.agents import Delegation
from workflows.domain.permissions.findings import Finding, finding
from workflows.domain.permissions.requests import PermissionRequest
from workflows.domain.permissions.rules import Action, Ruleset, relevant
from workflows.domain.permissions.wildcard import matches


@dataclass(frozen=True)
class Place:
    """The directories of a session; every path absolute and resolved.

    `worktree` is the root of the git work tree that contains `directory`, or None without one.
    `data` is Holdfast's data directory: `data/"tool-output"` holds complete outputs, `data/"calls"` the
    private directories of running commands. `rules` are those of the turn: what they hide is left out of searches.
    `delegation` says to whom the turn may hand work.
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
        """What relative paths in permissions, titles and diffs are relative to."""
        return self.worktree or self.directory

    @property
    def tool_output(self) -> Path:
        return self.data / "tool-output"

    def relative(self, path: Path) -> str:
        """`path` as a permission pattern or title shows it: relative to the root, `../x` outside."""
        return os.path.relpath(path, self.root)

    @cached_property
    def hides(self) -> bool:
        """Whether a rule denies reading anything at all."""
        return any(rule.action is Action.DENY for rule in relevant("read", self.rules))

    def readable(self, path: Path) -> bool:
        """Whether no rule denies reading a real path."""
        return not self.hides or self._reading(path).action is not Action.DENY

    @cached_property
    def _withholding(self) -> tuple[str, ...]:
        """The patterns of the rules that may deny reading a file or ask about it, for any case of letters."""
        rules = relevant("read", self.rules)
        last = max((at for at, rule in enumerate(rules) if rule.pattern == "*" and not rule.unless), default=0)
        return tuple({rule.pattern.casefold() for rule in rules[last:] if rule.action is not Action.ALLOW})

    @property
    def withholds(self) -> bool:
        """Whether a rule denies reading anything, or asks about it."""
        return bool(self._withholding)

    def may_withhold(self, path: Path) -> bool:
        """Whether a rule that denies reading, or asks about it, may be about a path: a look that costs little."""
        name = self.relative(path).casefold()
        return any(matches(name, pattern) for pattern in self._withholding)

    def asks_to_read(self, path: Path) -> bool:
        """Whether a rule asks before a real path is read."""
        return bool(self.rules) and self._reading(path).action is Action.ASK

    def searched(self, root: Path) -> Callable[[Path], bool]:
        """Which files a search of a real path may show: none that a rule denies to read, and none about which a rule
        asks, unless the same rule has asked about the path that is searched."""
        asked = self._reading(root).rule

        @lru_cache  # a file is asked about for each line that matches in it
        def shown(path: Path) -> bool:
            found = self._reading(path)
            return found.action is Action.ALLOW or (found.action is Action.ASK and found.rule == asked)

        return shown

    def title(self, path: Path) -> str:
        """`path` as the title of a call: as `relative` has it, but empty for the root itself."""
        return "" if path == self.root else self.relative(path)

    def _reading(self, path: Path) -> Finding:
        return finding(PermissionRequest(permission="read", patterns=(self.relative(path),)), self.rules)
