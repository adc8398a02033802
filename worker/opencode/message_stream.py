"""Messages as OpenCode's clients follow them: each change of one is an event (protocol.md 7)."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from pydantic import JsonValue

from worker.opencode.exported_shapes import ExportedMessage
from worker.opencode.shapes import PartShape, RunningCallShape, Shape, SpanShape, TextShape, ToolShape
from workflows.domain.ids import MessageId, PartId, SessionId
from workflows.domain.views.deltas import PublishedDelta


class StreamEvent(NamedTuple):
    """`properties` as in protocol.md 7.2."""

    type: str
    properties: Mapping[str, Shape | JsonValue]

    def dump(self) -> dict[str, JsonValue]:
        properties = {name: each.dump() if isinstance(each, Shape) else each for name, each in self.properties.items()}
        return {"type": self.type, "properties": properties}


class MessageStream:
    """What clients have of a session's messages that may still change, and the events since the last `take`.

    `at`: the time of the newest event, in milliseconds.
    """

    def __init__(self, session: SessionId) -> None:
        self.at = 0
        self._session = session
        self._news: list[StreamEvent] = []
        self._shown: dict[MessageId, ExportedMessage] = {}
        self._attempt: tuple[int, ...] = ()
        self._unfinished: MessageId | None = None  # the answer of which only pieces are known

    def take(self) -> list[StreamEvent]:
        taken, self._news = self._news, []
        return taken

    def add(self, type: str, **properties: Shape | JsonValue) -> None:
        self._news.append(StreamEvent(type, {"sessionID": self._session, **properties}))

    def add_part(self, part: PartShape) -> None:
        self.add("message.part.updated", part=part, time=self.at)

    def show(self, message: ExportedMessage) -> None:
        """Add what is new in it. A message comes before its parts, and is complete after them."""
        id, before = message.info.id, self._shown.get(message.info.id)
        self._shown[id] = message
        known = {} if before is None else {part.id: part for part in before.parts}
        if before is None:
            self.add("message.updated", info=message.info)
        for gone in known.keys() - {part.id for part in message.parts}:
            self.add("message.part.removed", messageID=id, partID=gone)
        for part in message.parts:
            if known.get(part.id) != part:
                self.add_part(part)
        if before is not None and before.info != message.info:
            self.add("message.updated", info=message.info)

    def forget(self, message: MessageId) -> None:
        """It changes no more."""
        self._shown.pop(message, None)

    def remove(self, message: MessageId) -> None:
        self.forget(message)
        self.add("message.removed", messageID=message)

    def end_pieces(self, answer: MessageId | None) -> None:
        """The `answer`, if there is one, is complete: what is unfinished of others is withdrawn."""
        if self._unfinished not in (None, answer):
            self.remove(self._unfinished)
        self._unfinished = None

    def show_piece(self, piece: PublishedDelta, begin: Callable[[MessageId], ExportedMessage]) -> None:
        """`begin`: makes the answer before its first piece. Pieces of an earlier attempt are withdrawn."""
        message, kind, text = MessageId(piece.source), piece.body.get("kind"), str(piece.body.get("text", ""))
        attempt = tuple(map(int, piece.attempt.split("-")))
        if attempt < self._attempt or (message in self._shown and message != self._unfinished):
            return
        if attempt > self._attempt and self._unfinished is not None:
            self.end_pieces(message)
        if message not in self._shown or attempt > self._attempt:
            self.show(begin(message))
        self._attempt, self._unfinished = attempt, message
        part = piece.body.get("part")  # none before the first
        if not isinstance(part, str) or kind not in ("text", "reasoning"):
            return
        shown = self._shown[message]
        if all(each.id != part for each in shown.parts):
            named = {"id": PartId(part), "session_id": self._session, "message_id": message, "type": str(kind)}
            begun = TextShape(**named, text="", time=SpanShape(start=self.at))
            self.show(shown.model_copy(update={"parts": (*shown.parts, begun)}))
        if text:
            self.add("message.part.delta", messageID=message, partID=part, field="text", delta=text)

    def show_output(self, message: MessageId, call: PartId, metadata: dict[str, JsonValue]) -> None:
        """What a running call has written so far."""
        for part in self._shown[message].parts if message in self._shown else ():
            if part.id == call and isinstance(part, ToolShape) and isinstance(part.state, RunningCallShape):
                state = part.state.model_copy(update={"metadata": metadata})
                self.add_part(part.model_copy(update={"state": state}))
