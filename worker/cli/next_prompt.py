"""Agent, model and variant of the next prompt that a person types while following a session."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from worker.project_config import load_project_config
from worker.session_client import SessionClient
from workflows.domain.events.event import Event
from workflows.domain.events.turns import TurnOpened
from workflows.domain.ids import SessionId
from workflows.domain.prompt import Prompt

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


class NextPrompt:
    """What the next prompt names; None stands for the session's. A named model is for the agent that begins with it.
    `current`: the agent of the next turn, as the person knows."""

    def __init__(
        self,
        client: SessionClient,
        session: SessionId,
        agent: str | None,
        model: str | None,
        variant: str | None,
        current: str | None,
    ) -> None:
        self.agent, self.model, self.variant = agent, model, variant
        self._client = client
        self._session = session
        self._cycle = AgentCycle(self._agent_names)
        self._current = current
        self._switched: str | None = None  # the session's agent, if a command or a plan has switched to it
        self._began: str | None = None  # the agent that has begun with the named model

    @property
    def without_text(self) -> Prompt:
        return Prompt(parts=(), agent=self.agent, model=self.model, variant=self.variant)

    @property
    def shown_agent(self) -> str | None:
        """The agent that it is for: chosen by Tab, or switched to."""
        return self._cycle.chosen or self._switched

    async def choose_next_agent(self) -> None:
        """Raises HoldfastError."""
        self.agent, self.model, self.variant = await self._cycle.advance(), None, None

    def note(self, event: Event) -> None:
        """Note an agent that has begun a turn: it is the session's now."""
        if not isinstance(event, TurnOpened):
            return
        if event.agent == self._cycle.chosen:
            self._cycle.chosen = self.agent = self._switched = None
        elif self._current not in (None, event.agent):
            self._switched = event.agent
        self._current = event.agent
        if self._began is None and self.agent in (None, event.agent):
            self._began, self.agent = event.agent, None
        elif self._began not in (None, event.agent):
            self.model = self.variant = None

    async def _agent_names(self) -> tuple[Sequence[str], str]:
        overview = await self._client.sessions.get(self._session)
        client, directory = self._client, Path(overview.directory)
        turn_config = await load_project_config(client.settings, directory, database=client.database)
        return turn_config.delegation.visible_names, self.agent or overview.agent
