"""What a directory says, read and judged as a whole: the snapshot that a turn works with."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from activities.files.place import Place
from activities.project.files import read_layers
from activities.project.instructions import read_instructions
from workflows.domain.agents import BUILD, Delegation, agents
from workflows.domain.config.config import AgentSettings, Config
from workflows.domain.config.fields import not_honoured, unknown
from workflows.domain.config.merge import Layer, merged
from workflows.domain.config.snapshot import NotHonoured, ProjectSnapshot
from workflows.domain.config.trust import judged
from workflows.domain.errors import UnknownAgent
from workflows.domain.permissions import defaults, rules
from workflows.domain.permissions.rules import Ruleset


@dataclass(frozen=True)
class Role:
    """As what a session works: as which agent, under which rules of its own, and with how many sessions above it."""

    agent: str = BUILD.name
    rules: Ruleset = ()
    ancestors: int = 0


PRIMARY: Final = Role()


async def load(place: Place, config: Path, environ: Mapping[str, str], role: Role = PRIMARY) -> ProjectSnapshot:
    """The snapshot of a place; `config` is the user's configuration folder, `environ` holds OpenCode's switches.

    Starts no program and contacts nobody. Raises ConfigError for a file that is wrong, UnknownAgent.
    """
    return await asyncio.to_thread(_load, place, config, environ, role)


def _load(place: Place, config: Path, environ: Mapping[str, str], role: Role) -> ProjectSnapshot:
    layers = read_layers(place, config, environ)
    settings, held_back = judged(layers, lambda config, agent: rules_of(agent, config, place))
    known = agents(settings, Config.model_validate(merged(layer.tree for layer in layers if layer.trusted)))
    if role.agent not in known:
        raise UnknownAgent(role.agent, known)
    instructions, outside = read_instructions(place, config, layers, environ)
    return ProjectSnapshot(
        directory=str(place.directory),
        worktree=str(place.worktree) if place.worktree else None,
        config=settings,
        rules=(*rules_of(role.agent, settings, place), *role.rules),
        agent=known[role.agent],
        delegation=Delegation(agents=tuple(known.values()), ancestors=role.ancestors, limit=settings.subagent_depth),
        instructions=instructions,
        held_back=(*held_back, *outside),
        not_honoured=tuple(_not_honoured(layers)),
        warnings=tuple(_warnings(layers, _configured(role.agent, settings, place))),
    )


def rules_of(agent: str, config: Config, place: Place) -> Ruleset:
    """The rules of an agent: built-in, the user's, the agent's own (opencode.md 2.1)."""
    return defaults.agent(agent, _configured(agent, config, place), data=place.data, temporary=place.temporary)


def _configured(agent: str, config: Config, place: Place) -> Ruleset:
    home = str(place.home)
    own = config.agent.get(agent, AgentSettings())
    return rules.merge(rules.from_config(config.permission, home), rules.from_config(own.permission, home))


def _not_honoured(layers: Sequence[Layer]) -> Iterator[NotHonoured]:
    for layer in layers:
        for path in not_honoured(layer.tree):
            yield NotHonoured(file=layer.file, field=".".join(path))


def _warnings(layers: Sequence[Layer], configured: Ruleset) -> Iterator[str]:
    for layer in layers:
        for field in unknown(layer.tree):
            yield f"{layer.file}: there is no field {field!r}: it has no effect."
    for hidden in rules.shadowed(configured):
        yield (
            f"The rule that denies {hidden.deny.pattern!r} for {hidden.deny.permission!r} has no effect, because "
            f"{hidden.by.pattern!r} comes later and says {hidden.by.action}: write the denial after it."
        )
