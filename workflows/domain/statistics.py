"""What sessions have used."""

from typing import Final

from workflows.domain.usage import Cost, Tokens
from workflows.domain.value import Value


class UsageEntry(Value):
    """The answers of one day, session, directory, agent or model (`kind`), or all. `others`: how many names follow that
    are not listed."""

    kind: str
    name: str
    title: str | None
    steps: int
    sessions: int
    tokens: Tokens
    cost: Cost
    others: int

    @property
    def cache_share(self) -> float | None:
        """The share of the sent tokens that the provider had in its cache; None if nothing was counted."""
        return self.tokens.cache_read / self.tokens.prompt if self.tokens.prompt else None


class ToolEntry(Value):
    """Calls of a tool by their outcome; the rest are not settled."""

    tool: str
    calls: int
    done: int
    refused: int
    failed: int


class Statistics(Value):
    """`archived`, `deleted`: sessions that are not counted."""

    usage: tuple[UsageEntry, ...]
    tools: tuple[ToolEntry, ...]
    archived: int
    deleted: int

    def of(self, kind: str) -> tuple[UsageEntry, ...]:
        return tuple(each for each in self.usage if each.kind == kind)


NO_STATISTICS: Final = Statistics(
    usage=(UsageEntry(kind="all", name="", title=None, steps=0, sessions=0, tokens=Tokens(), cost=Cost(), others=0),),
    tools=(),
    archived=0,
    deleted=0,
)
