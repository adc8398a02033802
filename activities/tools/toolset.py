"""Toolsets: the tools of a turn, by its configuration."""

from collections.abc import Mapping
from typing import Any, Protocol, TypeAlias

from activities.tools.tool import Tool
from workflows.domain.config.turn_config import TurnConfig

Toolset: TypeAlias = Mapping[str, Tool[Any]]


class Toolsets(Protocol):
    def of(self, turn: TurnConfig) -> Toolset:
        """The tools of a turn by name, with `invalid`; the same for the same configuration."""
