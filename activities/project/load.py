"""What a directory says, read and judged as a whole: the snapshot that a turn works with."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from activities.files.place import Place
from activities.project.files import read_layers
from activities.project.instructions import read_instructions
from workflows.domain.config.config import Config
from workflows.domain.config.fields import not_honoured, unknown
from workflows.domain.config.merge import Layer
from workflows.domain.config.snapshot import NotHonoured, ProjectSnapshot
from workflows.domain.config.trust import judged
from workflows.domain.permissions import defaults, rules
from workflows.domain.permissions.rules import Ruleset


async def load(place: Place, config: Path, environ: Mapping[str, str]) -> ProjectSnapshot:
    """The snapshot of a place; `config` is the user's configuration folder, `environ` holds OpenCode's switches.

    Starts no program and contacts nobody. Raises ConfigError for a file that is wrong.
    """
    return await asyncio.to_thread(_load, place, config, environ)


def _load(place: Place, config: Path, environ: Mapping[str, str]) -> ProjectSnapshot:
    layers = read_layers(place, config, environ)
    settings, held_back = judged(layers, lambda config: build_rules(config, place))
    instructions, outside = read_instructions(place, config, layers, environ)
    return ProjectSnapshot(
        directory=str(place.directory),
        worktree=str(place.worktree) if place.worktree else None,
        config=settings,
        rules=build_rules(settings, place),
        instructions=instructions,
        held_back=(*held_back, *outside),
        not_honoured=tuple(_not_honoured(layers)),
        warnings=tuple(_warnings(layers, _configured(settings, place))),
    )


def build_rules(config: Config, place: Place) -> Ruleset:
    """The rules of the agent `build`: built-in, the user's, the agent's own (opencode.md 2.1)."""
    return defaults.build(_configured(config, place), data=place.data, temporary=place.temporary)


def _configured(config: Config, place: Place) -> Ruleset:
    home = str(place.home)
    return rules.merge(
        rules.from_config(config.permission, home), rules.from_config(config.agent.build.permission, home)
    )


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
