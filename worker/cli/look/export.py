"""A session as one JSON document, in the shapes that OpenCode's clients know."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from textwrap import indent
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
from worker.client import Overview, Ran, Told, Totals
from workflows.domain import messages
from workflows.domain.ids import MessageId, PartId, SessionId
from workflows.domain.messages import AssistantMessage, UserMessage


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


@dataclass
class Exporter:
    """Puts the document together, message by message."""

    overview: Overview
    worktree: str
    _prompt: MessageId = MessageId("")

    async def document(self, info: SessionInfo, told: AsyncIterator[Told]) -> AsyncIterator[str]:
        """The document in pieces, so that a long session is never held whole."""
        yield f'{{\n  "info": {indent(_json(info), "  ").lstrip()},\n  "messages": ['
        comma = ""
        async for each in told:
            yield f"{comma}\n{indent(_json(self._message(each)), '    ')}"
            comma = ","
        yield "\n  ]\n}\n"

    def info(self, totals: Totals, project: str, version: str) -> SessionInfo:
        seen = self.overview
        return SessionInfo(
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

    def _message(self, told: Told) -> ExportedMessage:
        if isinstance(told.message, UserMessage):
            self._prompt = told.message.id
            return self._user(told.message, told)
        return self._assistant(told.message, told)

    def _user(self, message: UserMessage, told: Told) -> ExportedMessage:
        """A prompt; agent and model are those that answer it."""
        info = UserInfo(
            id=message.id,
            session_id=self.overview.id,
            time=Created(created=milliseconds(message.at)),
            agent=told.agent,
            model=model_name(told.model),
        )
        text = Text(
            id=PartId(message.id.replace("msg_", "prt_", 1)),
            session_id=self.overview.id,
            message_id=message.id,
            text=message.text,
        )
        return ExportedMessage(info=info, parts=(text,))

    def _assistant(self, message: AssistantMessage, told: Told) -> ExportedMessage:
        body = message.body
        model = model_name(body.model)
        at = milliseconds(message.at)
        info = AssistantInfo(
            id=message.id,
            session_id=self.overview.id,
            time=Created(created=at, completed=at),
            parent_id=self._prompt,
            provider_id=model.provider_id,
            model_id=model.model_id,
            agent=body.agent,
            mode=body.agent,
            path=Paths(cwd=self.overview.directory, root=self.worktree),
            cost=cost(body.cost),
            tokens=tokens(body.tokens),
            finish=body.finish,
        )
        texts = iter(told.texts)
        parts = [
            self._call(part, message, told.ran[part.id])
            if isinstance(part, messages.ToolPart)
            else self._text(part, message, next(texts))
            for part in message.parts
        ]
        return ExportedMessage(info=info, parts=tuple(parts))

    def _call(self, part: messages.ToolPart, message: AssistantMessage, ran: Ran) -> Part:
        return Tool(
            id=part.id,
            session_id=self.overview.id,
            message_id=message.id,
            call_id=part.provider_id,
            tool=part.tool,
            state=tool_state(part.state, part.arguments, part.outcome, _span(ran, message.at)),
        )

    def _text(self, part: messages.TextPart | messages.ReasoningPart, message: AssistantMessage, id: PartId) -> Part:
        at = milliseconds(message.at)
        shape = Text if isinstance(part, messages.TextPart) else Reasoning
        span = Span(start=at, end=at)
        return shape(id=id, session_id=self.overview.id, message_id=message.id, text=part.text, time=span)


def milliseconds(at: datetime) -> int:
    """A moment as OpenCode writes it."""
    return int(at.timestamp() * 1000)


def _span(ran: Ran, otherwise: datetime) -> Span:
    """When a call ran; one that was refused or cancelled has only an end."""
    begin = ran.claimed or ran.settled or otherwise
    return Span(start=milliseconds(begin), end=milliseconds(ran.settled) if ran.settled else None)


def _json(shape: Shape) -> str:
    return json.dumps(shape.dump(), indent=2)
