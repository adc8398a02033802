"""ConfigOrigins: which file a part of a directory's configuration is written in, for people."""

from dataclasses import dataclass

from activities.project.checked_config import CheckedConfig
from workflows.domain.config.config import Config
from workflows.domain.permissions import rules
from workflows.domain.permissions.rules import Rule, Ruleset


@dataclass(frozen=True)
class ConfigOrigins:
    """The files of a configuration with their own fields, from the weakest to the strongest. `home`: the person's."""

    files: tuple[tuple[str, Config], ...]
    home: str

    @classmethod
    def of(cls, checked: CheckedConfig) -> "ConfigOrigins":
        files = tuple((layer.file, Config.model_validate(layer.tree)) for layer in checked.files)
        return cls(files, str(checked.workspace.home))

    def files_of(self, agent: str) -> tuple[str, ...]:
        """The files that set something of an agent."""
        return tuple(file for file, config in self.files if agent in config.agent)

    def file_of(self, rule: Rule, agent: str) -> str | None:
        """The strongest file with a rule in effect for an agent; None for a built-in rule."""
        for of_agent in (True, False):
            for file, config in reversed(self.files):
                if any(_is_same(each, rule) for each in self._rules(config, agent if of_agent else None)):
                    return file
        return None

    def _rules(self, config: Config, agent: str | None) -> Ruleset:
        if agent is None:
            return rules.from_config(config.permission, self.home)
        own = config.agent.get(agent)
        return rules.from_config(own.permission, self.home) if own else ()


def _is_same(one: Rule, other: Rule) -> bool:
    return (one.permission, one.pattern, one.action) == (other.permission, other.pattern, other.action)
