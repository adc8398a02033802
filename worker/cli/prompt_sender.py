"""Sends what a person types while following a session."""

from activities.mint import new_id
from worker.cli.render.formatting import escape_prose
from worker.cli.session_follower import SessionFollower
from worker.cli.slash_commands import SlashCommand, parse_slash_command
from workflows.domain.errors import HoldfastError
from workflows.domain.ids import MessageId, Prefix, RetryId
from workflows.domain.prompt import Prompt
from workflows.domain.value import Value


class SentPrompt(Value):
    """An accepted prompt or retry."""

    id: MessageId | RetryId


class PromptSender:
    """Sends typed lines as prompts.

    A refused line returns to the keyboard. Entered again it keeps its id, as the first try may be recorded.
    """

    def __init__(self, follower: SessionFollower, model: str | None, agent: str | None) -> None:
        self._client = follower.client
        self._session = follower.session
        self._follower = follower
        self._model = model
        self._agent = agent
        self._unsent: tuple[str, MessageId] | None = None

    async def submit(self, text: str) -> SentPrompt | SlashCommand | None:
        """The sent prompt, or a slash command; None for an empty or refused line."""
        try:
            if not text.strip():
                return None
            if (found := parse_slash_command(text)) is SlashCommand.RETRY:
                return SentPrompt(id=(await self._client.retry(self._session, model=self._model)).retry)
            return found or await self._send(text)
        except HoldfastError as error:
            self._follower.print_note(f"Not sent: {escape_prose(str(error))}")
            self._follower.keyboard.typed = text + self._follower.keyboard.typed
            return None

    async def _send(self, text: str) -> SentPrompt:
        if self._unsent is None or self._unsent[0] != text:
            self._unsent = text, MessageId(new_id(Prefix.MESSAGE))
        prompt = Prompt.of_text(text, agent=self._agent, model=self._model)
        accepted = await self._client.prompt(self._session, prompt, prompt=self._unsent[1])
        self._unsent = None
        if not accepted.delivered:
            self._follower.print_note(
                "The engine cannot be reached just now; the prompt is recorded, and is taken later."
            )
        return SentPrompt(id=accepted.prompt)
