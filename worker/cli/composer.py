"""Composer: what a person types while they follow a session is sent to it."""

from activities.mint import Mint
from worker.cli.follow import Follower
from worker.cli.look.screen import Screen
from worker.cli.look.text import prose
from worker.cli.slash import Slash, command
from worker.client import SessionClient
from workflows.domain.errors import HoldfastError
from workflows.domain.ids import MessageId, Prefix, RetryId, SessionId
from workflows.domain.value import Value


class Sent(Value):
    """A prompt or a retry that was accepted."""

    id: MessageId | RetryId


class Composer:
    """Sends typed lines as prompts. One that is not accepted stands in the line again, and is the same prompt when it
    is entered once more: its first try may have been recorded."""

    def __init__(
        self, client: SessionClient, session: SessionId, screen: Screen, follower: Follower, model: str | None
    ) -> None:
        self._client = client
        self._session = session
        self._screen = screen
        self._follower = follower
        self._model = model
        self._mint = Mint()
        self._unsent: tuple[str, MessageId] | None = None

    async def take(self, text: str) -> Sent | Slash | None:
        """What was sent, or a command that is not about sending; nothing for an empty line, or one that is refused."""
        try:
            if not text.strip():
                return None
            if (found := command(text)) is Slash.RETRY:
                return Sent(id=(await self._client.retry(self._session, model=self._model)).retry)
            return found or await self._send(text)
        except HoldfastError as error:
            self._follower.say(f"Not sent: {prose(str(error))}")
            self._follower.keyboard.typed = text + self._follower.keyboard.typed
            return None

    async def _send(self, text: str) -> Sent:
        if self._unsent is None or self._unsent[0] != text:
            self._unsent = text, MessageId(self._mint.new(Prefix.MESSAGE))
        accepted = await self._client.prompt(self._session, text, model=self._model, prompt=self._unsent[1])
        self._unsent = None
        if not accepted.rung:
            self._follower.say("The engine cannot be reached just now; the prompt is recorded, and is taken later.")
        return Sent(id=accepted.prompt)
