"""The client ledger: records every client call before it is sent, and then its result."""

from collections.abc import Awaitable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from activities.new_ids import new_id
from worker.session_client import SessionClient
from workflows.domain.errors import HoldfastError, Unavailable
from workflows.domain.ids import AskId, MessageId, Prefix, SessionId, StopId
from workflows.domain.permissions.replies import AskDecision, Reply
from workflows.domain.prompt import Prompt, PromptMode
from workflows.domain.views.accepted import AcceptedAnswer, AcceptedPrompt, AcceptedStop

T = TypeVar("T")


@dataclass
class RecordedRequest(Generic[T]):
    """One call and its result; without answer and error, its fate is unknown."""

    id: str
    said: str
    got: T | None = None
    error: HoldfastError | None = None

    @property
    def uncertain(self) -> bool:
        """Whether it may have been accepted without a confirmation."""
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
    """The requests of all persons of a trial."""

    prompts: list[RecordedRequest[AcceptedPrompt]] = field(default_factory=list)
    answers: list[RecordedRequest[AcceptedAnswer]] = field(default_factory=list)
    stops: list[RecordedRequest[AcceptedStop]] = field(default_factory=list)


@dataclass
class RecordingClient:
    """One person's client."""

    client: SessionClient
    ledger: ClientLedger

    async def start(
        self,
        project: Path,
        text: str,
        programs: Path,
        *,
        subtask: str | None = None,
        session: SessionId | None = None,
        prompt: MessageId | None = None,
    ) -> SessionId:
        """Start a session whose commands find `programs`; a repetition gives the same ids."""
        session = session or SessionId(new_id(Prefix.SESSION))
        sent = self._prompt(text, prompt)
        search = {"PATH": f"{programs}:/usr/bin:/bin"}
        start = self.client.start(
            str(project),
            Prompt.of_text(text, subtask=subtask, model="scripted/model"),
            session=session,
            prompt=MessageId(sent.id),
            environment=search,
        )
        await sent.send(start)
        return session

    async def prompt(
        self, session: SessionId, text: str, mode: PromptMode = PromptMode.STEER, prompt: MessageId | None = None
    ) -> AcceptedPrompt:
        """Send a prompt; with an earlier one's id, repeat that one."""
        sent = self._prompt(text, prompt)
        return await sent.send(self.client.prompt(session, Prompt.of_text(text, mode=mode), prompt=MessageId(sent.id)))

    async def answer(self, ask: AskId, reply: Reply = Reply.ONCE, **more: Any) -> AcceptedAnswer:
        sent: RecordedRequest[AcceptedAnswer] = RecordedRequest(ask, reply)
        self.ledger.answers.append(sent)
        return await sent.send(self.client.answer(ask, AskDecision(reply=reply, **more)))

    async def stop(self, session: SessionId, stop: StopId | None = None) -> AcceptedStop:
        named = stop or StopId(new_id(Prefix.STOP))
        sent: RecordedRequest[AcceptedStop] = RecordedRequest(named, session)
        self.ledger.stops.append(sent)
        return await sent.send(self.client.stop(session, stop=named))

    async def end(self, session: SessionId) -> AcceptedStop:
        """End the session; the id of its stop is known only afterwards."""
        sent: RecordedRequest[AcceptedStop] = RecordedRequest("", session)
        self.ledger.stops.append(sent)
        stopped = await sent.send(self.client.end(session))
        sent.id = stopped.stop
        return stopped

    def _prompt(self, text: str, prompt: MessageId | None = None) -> RecordedRequest[AcceptedPrompt]:
        sent: RecordedRequest[AcceptedPrompt] = RecordedRequest(prompt or new_id(Prefix.MESSAGE), text)
        self.ledger.prompts.append(sent)
        return sent
