"""Claude Code's agents: files below `.claude/agents`, in the form of OpenCode's."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from activities.files.workspace import Workspace
from activities.project.agent_files import read_agent_files
from activities.project.config_files import directories_to_root
from workflows.domain.agents.built_in import BUILT_IN, RESERVED
from workflows.domain.config.merge import ConfigLayer
from workflows.domain.config.sources import ConfigSources
from workflows.domain.errors import ConfigError


def with_claude_agents(
    layers: Sequence[ConfigLayer], workspace: Workspace, sources: ConfigSources
) -> tuple[ConfigLayer, ...]:
    """`layers` behind those of Claude Code's agents, of which one whose name they have, or a built-in agent, counts
    for nothing: neither its fields nor its mistakes. What one's own forbids, no file of a project takes away."""
    taken = {
        trusted: {
            *BUILT_IN,
            *RESERVED,
            *(name for each in layers if each.trusted or not trusted for name in _names(each)),
        }
        for trusted in (True, False)
    }
    folders = [] if sources.disable_claude_code else [(workspace.home / ".claude", True)]
    if folders and not sources.disable_project_config:
        above = (each for each in reversed(directories_to_root(workspace)) if each != workspace.home)
        folders += [(folder / ".claude", False) for folder in above]
    found = (layer for folder, trusted in folders for layer in _read(folder, trusted, workspace))
    return (*(_without_taken(layer, taken[layer.trusted]) for layer in found), *layers)


def _read(folder: Path, trusted: bool, workspace: Workspace) -> Iterator[ConfigLayer]:
    """A file without a description is none of an agent, as for Claude Code."""
    try:
        for layer in read_agent_files(folder, trusted=trusted, workspace=workspace):
            if layer.refused is not None or any("description" in each for each in _agents(layer).values()):
                yield layer
    except ConfigError as error:
        why = f"no more agents of Claude Code's are read here: {error}"
        yield ConfigLayer(file=str(folder), trusted=trusted, tree={}, ineffective=(why,))


def _without_taken(layer: ConfigLayer, taken: set[str]) -> ConfigLayer:
    if not (names := [each for each in _names(layer) if each in taken]):
        return layer
    why = f"it is not read: there is another agent {names[0]!r}, which is not Claude Code's."
    return layer.model_copy(update={"tree": {}, "refused": None, "ineffective": (why,)})


def _names(layer: ConfigLayer) -> tuple[str, ...]:
    return (*_agents(layer), *(layer.refused.names if layer.refused is not None else ()))


def _agents(layer: ConfigLayer) -> dict[str, Any]:
    agents = layer.tree.get("agent")
    return agents if isinstance(agents, dict) else {}
