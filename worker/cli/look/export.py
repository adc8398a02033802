"""A session as one JSON document, in the shapes that OpenCode's clients know."""

import json
from collections import deque
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from random import Random
from textwrap import indent
from typing import Any, Literal

from pydantic import SerializeAsAny

from worker.cli.look.shapes import (
    Created,
    Error,
    ModelName,
    Part,
    Problem,
    Reasoning,
    Shape,
    Span,
    Text,
    Tokens,
    Tool,
    cost,
    model_name,
    step_finish,
    step_start,
    tokens,
    tool_state,
)
from worker.client import CutShort, Overview, Ran, Told, Totals
from workflows.domain import ids, messages, usage
from workflows.domain.closing import CloseReason
from workflows.domain.ids import MessageId, PartId, Prefix, SessionId
from workflows.domain.messages import AssistantMessage, UserMessage


class SessionInfo(Shape):
    id: SessionId
    slug: str
    project_id: str
    directory: str
    title: str
    agent: str
    parent_id: SessionId | None = None
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
    finish: str | None = None
    error: Error | None = None


class ExportedMessage(Shape):
    info: UserInfo | AssistantInfo
    parts: tuple[SerializeAsAny[Part], ...]


@dataclass
class Exporter:
    """Puts the document together, message by message; `cut_short` are the turns that ended before their work was
    done, each of which becomes a message with its error."""

    overview: Overview
    worktree: str
    cut_short: Sequence[CutShort] = ()
    _prompt: MessageId = MessageId("")
    _since: datetime | None = None

    async def document(self, info: SessionInfo, told: AsyncIterator[Told]) -> AsyncIterator[str]:
        """The document in pieces, so that a long session is never held whole."""
        yield f'{{\n  "info": {indent(_json(info), "  ").lstrip()},\n  "messages": ['
        comma, ended = "", deque(self.cut_short)
        async for each in told:
            while ended and ended[0].number < each.number:
                yield _item(comma, self._failure(ended.popleft()))
                comma = ","
            yield _item(comma, self._message(each))
            comma = ","
        for turn in ended:
            yield _item(comma, self._failure(turn))
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
            parent_id=seen.parent,
            model=model_name(seen.model) if seen.model else None,
            version=version,
            cost=cost(totals.cost.dollars),
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
        info = self._info(
            message.id,
            self._time(message, told),
            body.agent,
            body.model,
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
        session = self.overview.id
        ends = step_start(session, message.id), step_finish(session, message.id, body)
        return ExportedMessage(info=info, parts=(ends[0], *parts, ends[1]))

    def _failure(self, turn: CutShort) -> ExportedMessage:
        """What OpenCode says at the end of such a turn; it has no row of its own, but an id that stays the same."""
        at = milliseconds(turn.ended_at)
        failed = turn.reason is CloseReason.FAILED
        error = Error(
            name="UnknownError" if failed else "MessageAbortedError",
            data=Problem(message=turn.error or f"The turn was {turn.reason}."),
        )
        info = self._info(
            MessageId(ids.mint(Prefix.MESSAGE, at, 0, Random(turn.id))),
            Created(created=milliseconds(max(self._since or turn.opened_at, turn.opened_at)), completed=at),
            turn.agent,
            turn.model,
            cost=0,
            tokens=tokens(usage.Tokens()),
            error=error,
        )
        return ExportedMessage(info=info, parts=())

    def _info(self, id: MessageId, time: Created, agent: str, model: str, **more: Any) -> AssistantInfo:
        named = model_name(model)
        return AssistantInfo(
            id=id,
            session_id=self.overview.id,
            time=time,
            parent_id=self._prompt,
            provider_id=named.provider_id,
            model_id=named.model_id,
            agent=agent,
            mode=agent,
            path=Paths(cwd=self.overview.directory, root=self.worktree),
            **more,
        )

    def _time(self, message: AssistantMessage, told: Told) -> Created:
        """From the end of the step before it, or the begin of its turn, to the end of its calls."""
        began = max(self._since or told.opened, told.opened)
        settled = [ran.settled for ran in told.ran.values()]
        ended = [at for at in settled if at is not None]
        self._since = max(message.at, *ended) if ended else message.at
        completed = milliseconds(self._since) if len(ended) == len(settled) else None
        return Created(created=milliseconds(began), completed=completed)

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


def _item(comma: str, message: ExportedMessage) -> str:
    return f"{comma}\n{indent(_json(message), '    ')}"


def _json(shape: Shape) -> str:
    return json.dumps(shape.dump(), indent=2)
