"""A session as one JSON document, in the shapes that OpenCode's clients know."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from pydantic import SerializeAsAny

from worker.cli.look.shapes import (
    Created,
    ModelName,
    Part,
    Reasoning,
    Shape,
    Span,
    Text,
    Tokens,
    Tool,
    cost,
    model_name,
    tokens,
    tool_state,
)
from worker.client import Overview, Totals
from workflows.domain import messages
from workflows.domain.events import CallClaimed, CallFinished, MessageCompleted, Record
from workflows.domain.ids import MessageId, PartId, SessionId
from workflows.domain.messages import AssistantMessage, Transcript, UserMessage


class SessionInfo(Shape):
    id: SessionId
    slug: str
    project_id: str
    directory: str
    title: str
    agent: str
    model: ModelName | None = None
    version: str
    cost: float
    tokens: Tokens
    time: Created


class UserInfo(Shape):
    id: MessageId
    session_id: SessionId
    role: Literal["user"] = "user"
    time: Created
    agent: str
    model: ModelName


class Paths(Shape):
    cwd: str
    root: str


class AssistantInfo(Shape):
    id: MessageId
    session_id: SessionId
    role: Literal["assistant"] = "assistant"
    time: Created
    parent_id: MessageId
    provider_id: str
    model_id: str
    agent: str
    mode: str
    path: Paths
    cost: float
    tokens: Tokens
    finish: str


class ExportedMessage(Shape):
    info: UserInfo | AssistantInfo
    parts: tuple[SerializeAsAny[Part], ...]


class Export(Shape):
    """The whole document."""

    info: SessionInfo
    messages: tuple[ExportedMessage, ...]


@dataclass
class Chronicle:
    """What the log knows and the transcript does not: when calls ran, and the ids of texts."""

    starts: dict[PartId, int] = field(default_factory=dict)
    ends: dict[PartId, int] = field(default_factory=dict)
    texts: dict[MessageId, Iterator[PartId]] = field(default_factory=dict)

    def note(self, record: Record) -> None:
        at = milliseconds(datetime.fromisoformat(record.at))
        match record.event:
            case CallClaimed(call=call):
                self.starts.setdefault(call, at)
            case CallFinished(call=call):
                self.ends[call] = at
            case MessageCompleted(message=message, parts=parts):
                self.texts[message] = iter([part.part for part in parts])

    def span(self, call: PartId, otherwise: int) -> Span:
        """When the call ran; one that was refused or cancelled has only an end."""
        end = self.ends.get(call)
        return Span(start=self.starts.get(call, end or otherwise), end=end)


@dataclass(frozen=True)
class Exporter:
    """Puts the document together."""

    overview: Overview
    chronicle: Chronicle
    worktree: str

    def export(self, transcript: Transcript, totals: Totals, project: str, version: str) -> Export:
        seen = self.overview
        info = SessionInfo(
            id=seen.id,
            slug=seen.id,
            project_id=project,
            directory=seen.directory,
            title=seen.title,
            agent=seen.agent,
            model=model_name(seen.model) if seen.model else None,
            version=version,
            cost=cost(totals.cost),
            tokens=tokens(totals.tokens),
            time=Created(created=milliseconds(seen.created_at), updated=milliseconds(seen.updated_at)),
        )
        return Export(info=info, messages=tuple(self._messages(transcript)))

    def _messages(self, transcript: Transcript) -> Iterator[ExportedMessage]:
        parent = MessageId("")
        for message in transcript:
            if isinstance(message, UserMessage):
                parent = message.id
                yield self._user(message, transcript)
            else:
                yield self._assistant(message, parent)

    def _user(self, message: UserMessage, transcript: Transcript) -> ExportedMessage:
        """A prompt; agent and model are those that answered it."""
        answers = (each for each in transcript if isinstance(each, AssistantMessage) and each.turn == message.turn)
        answer = next(answers, None)
        info = UserInfo(
            id=message.id,
            session_id=self.overview.id,
            time=Created(created=milliseconds(message.at)),
            agent=answer.body.agent if answer else self.overview.agent,
            model=model_name(answer.body.model if answer else self.overview.model or ""),
        )
        text = Text(
            id=PartId(message.id.replace("msg_", "prt_", 1)),
            session_id=self.overview.id,
            message_id=message.id,
            text=message.text,
        )
        return ExportedMessage(info=info, parts=(text,))

    def _assistant(self, message: AssistantMessage, parent: MessageId) -> ExportedMessage:
        body = message.body
        model = model_name(body.model)
        at = milliseconds(message.at)
        info = AssistantInfo(
            id=message.id,
            session_id=self.overview.id,
            time=Created(created=at, completed=at),
            parent_id=parent,
            provider_id=model.provider_id,
            model_id=model.model_id,
            agent=body.agent,
            mode=body.agent,
            path=Paths(cwd=self.overview.directory, root=self.worktree),
            cost=cost(body.cost),
            tokens=tokens(body.tokens),
            finish=body.finish,
        )
        return ExportedMessage(info=info, parts=tuple(self._part(part, message, at) for part in message.parts))

    def _part(self, part: messages.Part, message: AssistantMessage, at: int) -> Part:
        session, name, span = self.overview.id, message.id, Span(start=at, end=at)
        if isinstance(part, messages.ToolPart):
            state = tool_state(part.state, part.arguments, part.outcome, self.chronicle.span(part.id, at))
            return Tool(
                id=part.id, session_id=session, message_id=name, call_id=part.provider_id, tool=part.tool, state=state
            )
        shape = Text if isinstance(part, messages.TextPart) else Reasoning
        id = next(self.chronicle.texts[name])
        return shape(id=id, session_id=session, message_id=name, text=part.text, time=span)


def milliseconds(at: datetime) -> int:
    """A moment as OpenCode writes it."""
    return int(at.timestamp() * 1000)
