"""The client ledger: every call of a door is written down before it is sent, and what came back after it."""

from collections.abc import Awaitable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from activities.mint import Mint
from activities.session.answers import Decided, Settled
from activities.store.prompts import Mode
from activities.store.stops import Stopped
from worker.client import Accepted, SessionClient
from workflows.domain.errors import HoldfastError, Unavailable
from workflows.domain.ids import AskId, MessageId, Prefix, SessionId, StopId
from workflows.domain.permissions.replies import Reply

T = TypeVar("T")


@dataclass
class Sent(Generic[T]):
    """One call: what it was about, and what came back; neither answer nor error: nobody knows what became of it."""

    id: str
    said: str
    got: T | None = None
    error: HoldfastError | None = None

    @property
    def uncertain(self) -> bool:
        """Whether it may have been accepted although nobody was told so."""
        return self.got is None and (self.error is None or isinstance(self.error, Unavailable))

    async def send(self, coming: Awaitable[T]) -> T:
        try:
            self.got = await coming
        except HoldfastError as error:
            self.error = error
            raise
        return self.got


@dataclass
class ClientLedger:
    """What all persons of a trial have sent."""

    prompts: list[Sent[Accepted]] = field(default_factory=list)
    answers: list[Sent[Settled]] = field(default_factory=list)
    stops: list[Sent[Stopped]] = field(default_factory=list)


@dataclass
class Door:
    """One person's way in."""

    client: SessionClient
    ledger: ClientLedger
    mint: Mint = field(default_factory=Mint)

    async def start(
        self,
        project: Path,
        text: str,
        programs: Path,
        *,
        session: SessionId | None = None,
        prompt: MessageId | None = None,
    ) -> SessionId:
        """Start a session whose commands find `programs`; who says it again gives the same ids again."""
        session = session or SessionId(self.mint.new(Prefix.SESSION))
        sent = self._prompt(text, prompt)
        search = {"PATH": f"{programs}:/usr/bin:/bin"}
        start = self.client.start(
            str(project),
            text,
            model="scripted/model",
            session=session,
            prompt=MessageId(sent.id),
            environment=search,
        )
        await sent.send(start)
        return session

    async def prompt(
        self, session: SessionId, text: str, mode: Mode = Mode.STEER, prompt: MessageId | None = None
    ) -> Accepted:
        """Send a prompt; with the id of an earlier one it is that one again."""
        sent = self._prompt(text, prompt)
        return await sent.send(self.client.prompt(session, text, mode=mode, prompt=MessageId(sent.id)))

    async def answer(self, ask: AskId, reply: Reply = Reply.ONCE, **more: Any) -> Settled:
        sent: Sent[Settled] = Sent(ask, reply)
        self.ledger.answers.append(sent)
        return await sent.send(self.client.answer(ask, Decided(reply=reply, **more)))

    async def stop(self, session: SessionId, stop: StopId | None = None) -> Stopped:
        named = stop or StopId(self.mint.new(Prefix.STOP))
        sent: Sent[Stopped] = Sent(named, session)
        self.ledger.stops.append(sent)
        return await sent.send(self.client.stop(session, stop=named))

    async def end(self, session: SessionId) -> Stopped:
        """End the session; the id of the stop in it is known afterwards only."""
        sent: Sent[Stopped] = Sent("", session)
        self.ledger.stops.append(sent)
        stopped = await sent.send(self.client.end(session))
        sent.id = stopped.stop
        return stopped

    def _prompt(self, text: str, prompt: MessageId | None = None) -> Sent[Accepted]:
        sent: Sent[Accepted] = Sent(prompt or self.mint.new(Prefix.MESSAGE), text)
        self.ledger.prompts.append(sent)
        return sent
