"""The agents that Tab goes through at a prompt."""

from collections.abc import Awaitable, Callable, Sequence

# Of the agents that work for people and are shown, and of the one that a prompt is for where none is chosen.
AgentNames = Callable[[], Awaitable[tuple[Sequence[str], str]]]


class AgentCycle:
    """`chosen`: the next prompt's agent, picked by Tab."""

    def __init__(self, read: AgentNames) -> None:
        self.chosen: str | None = None
        self._read = read

    async def advance(self) -> str:
        """Choose the next one. Raises what reading the names does."""
        names, current = await self._read()
        current = self.chosen or current
        known = [*names] or [current]
        self.chosen = known[(known.index(current) + 1) % len(known)] if current in known else known[0]
        return self.chosen
