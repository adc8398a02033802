"""What a directory says, read and judged as a whole: the snapshot that a turn works with."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from activities.files.place import Place
from activities.project.files import read_layers
from activities.project.instructions import LIMIT, addresses, read_instructions
from activities.project.unsupported import ignored_files, organisations
from workflows.domain.agents import BUILD, RESERVED, Agent, Delegation, agents, chosen, default_agent
from workflows.domain.config.config import AgentSettings, Config
from workflows.domain.config.fields import JsonObject, at, not_honoured, unknown
from workflows.domain.config.looser import loosens
from workflows.domain.config.merge import Layer, merged, over
from workflows.domain.config.references import not_looked_up
from workflows.domain.config.snapshot import Instruction, NotHonoured, ProjectSnapshot
from workflows.domain.config.sources import ConfigSources
from workflows.domain.config.trust import judged
from workflows.domain.errors import UnknownAgent, UsageError
from workflows.domain.permissions import defaults, rules
from workflows.domain.permissions.ceiling import under
from workflows.domain.permissions.rules import Action, Rule, Ruleset


@dataclass(frozen=True)
class Role:
    """As what a session works: as which agent (None: the default one), under which rules of its own, and with how many
    sessions above it."""

    agent: str | None = None
    rules: Ruleset = ()
    ancestors: int = 0


PRIMARY: Final = Role()


async def load(place: Place, sources: ConfigSources, managed: Path, role: Role = PRIMARY) -> ProjectSnapshot:
    """The snapshot of a place; `managed` is the administrator's configuration folder.

    Starts no program and contacts nobody. Raises ConfigError for a file that is wrong, UnknownAgent.
    """
    return await asyncio.to_thread(_load, place, sources, managed, role)


def _load(place: Place, sources: ConfigSources, managed: Path, role: Role) -> ProjectSnapshot:
    layers = read_layers(place, sources, managed)
    settings, held_back = judged(layers, lambda config, agent: rules_of(agent, config, place))
    own = Config.model_validate(merged(layer.tree for layer in layers if layer.trusted))
    known = agents(settings, own)
    agent = _subagent(role, known) if role.ancestors else _primary(role, known, settings, own, place)
    above = Config.model_validate(merged(layer.tree for layer in layers if layer.managed))
    managed_model = above.agent.get(agent.name, AgentSettings()).model or above.model
    instructions, outside = read_instructions(place, layers, sources)
    ignored, unnamed = ignored_files(place, sources)
    bounded = under(_configured(agent.name, above, place), rules_of(agent.name, settings, place))
    return ProjectSnapshot(
        directory=str(place.directory),
        worktree=str(place.worktree) if place.worktree else None,
        home=str(place.home),
        config=settings,
        model_is_managed=managed_model is not None,
        rules=(*bounded, *role.rules),
        agent=agent.model_copy(update={"model": managed_model}) if managed_model else agent,
        delegation=Delegation(agents=tuple(known.values()), ancestors=role.ancestors, limit=settings.subagent_depth),
        instructions=instructions,
        held_back=(*held_back, *outside),
        not_honoured=(*_not_honoured(layers), *organisations(place)),
        ignored=ignored,
        warnings=(*_warnings(layers, settings, str(place.home)), *_shortened(instructions), *unnamed),
    )


def _subagent(role: Role, known: Mapping[str, Agent]) -> Agent:
    agent = known.get(role.agent or BUILD.name)
    if agent is None:
        raise UnknownAgent(f"Agent not found: {role.agent!r}.", known)
    return agent


def _primary(role: Role, known: Mapping[str, Agent], settings: Config, own: Config, place: Place) -> Agent:
    """Who works for people: the named agent, or the default one. Raises UnknownAgent.

    Raises UsageError where the project's files have made a default of an agent that may do more than the user's own.
    """
    if role.agent is not None:
        return chosen(role.agent, known)
    agent, mine = default_agent(settings, known), _own_default(own)
    if agent.name != mine and loosens(rules_of(mine, own, place), rules_of(agent.name, settings, place)):
        raise UsageError(
            f"The files of this project choose the agent {agent.name!r}, which may do more than {mine!r}, the one of "
            "your own configuration: name the one that you want with `--agent`."
        )
    return agent


def _own_default(own: Config) -> str:
    """The default agent by the user's own files alone; one that only a project has may be named there."""
    try:
        return default_agent(own, agents(own)).name
    except UnknownAgent:
        return own.default_agent or BUILD.name


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
        for address in addresses(layer):
            yield NotHonoured(file=layer.file, field=f"instructions {address}")


def _warnings(layers: Sequence[Layer], settings: Config, home: str) -> Iterator[str]:
    for layer in layers:
        for field in unknown(layer.tree):
            yield f"{layer.file}: there is no field {field!r}: it has no effect."
        for path in not_looked_up(layer.tree):
            yield f"{layer.file}: the reference in {'.'.join(path)!r} is not looked up: it counts as it is written."
        for key, line in layer.doubled:
            yield f"{layer.file}:{line}: the key {key!r} stands here a second time: only the last one counts."
        named = layer.tree.get("agent")
        for name in sorted(RESERVED.intersection(named if isinstance(named, dict) else ())):
            yield f"{layer.file}: the agent {name!r} is not supported yet: its settings are ignored."
    yield from _replaced([layer for layer in layers if layer.trusted])
    yield from _without_effect(settings, home)


def _shortened(instructions: Sequence[Instruction]) -> Iterator[str]:
    for each in instructions:
        if not each.complete:
            yield f"{each.path}: only the first {LIMIT // 1024} KiB are instructions; the model may read the rest."


def _replaced(layers: Sequence[Layer]) -> Iterator[str]:
    """Denials of everything that a later file of the user replaces by patterns, so that they are gone."""
    tree: JsonObject = {}
    for layer in layers:
        named = [("agent", name, "permission") for name in _table(layer.tree, ("agent",))]
        for place in (("permission",), *named):
            before = _table(tree, place)
            for name, patterns in _table(layer.tree, place).items():
                if before.get(name) == "deny" and isinstance(patterns, dict) and "*" not in patterns:
                    yield (
                        f"{layer.file}: the patterns of {'.'.join((*place, name))} replace the denial of an earlier "
                        'file: write "*": "deny" as the first of them to keep it.'
                    )
        tree = over(tree, layer.tree)


def _table(tree: JsonObject, place: tuple[str, ...]) -> JsonObject:
    found = at(tree, place)
    return found if isinstance(found, dict) else {}


def _without_effect(settings: Config, home: str) -> Iterator[str]:
    """Rules that a later one of the same table covers; and denies for all agents that the table of one undoes."""
    general = rules.from_config(settings.permission, home)
    for hidden in rules.shadowed(general):
        yield _covered("permission", hidden.rules, hidden.by)
    for name, agent in sorted((name, agent) for name, agent in settings.agent.items() if name not in RESERVED):
        own = rules.from_config(agent.permission, home)
        for hidden in rules.shadowed(own):
            yield _covered(f"agent.{name}.permission", hidden.rules, hidden.by)
        for hidden in rules.shadowed((*(rule for rule in general if rule.action is Action.DENY), *own)):
            if lost := tuple(rule for rule in hidden.rules if rule in general and rule not in own):
                yield f"agent.{name}.permission: {_rule_text(hidden.by)} undoes for this agent {_texts(lost)}."


def _covered(table: str, hidden: Ruleset, by: Rule) -> str:
    return (
        f"{table}: {_texts(hidden)} {'has' if len(hidden) == 1 else 'have'} no effect: "
        f"{_rule_text(by)} comes later and covers {'it' if len(hidden) == 1 else 'them'}. The last rule that matches "
        "decides, so write the broader one first."
    )


def _texts(shown: Ruleset) -> str:
    return ", ".join(map(_rule_text, shown))


def _rule_text(rule: Rule) -> str:
    return f"{rule.permission} {rule.pattern!r}: {rule.action}"
