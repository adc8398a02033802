"""Transcripts that a worker keeps between the steps of a session, so that a step reads only what is new."""

from collections import OrderedDict
from typing import Final, NamedTuple

from activities.store import transcript
from activities.store.statements import Reads
from workflows.domain.ids import SessionId
from workflows.domain.messages import AssistantMessage, Message, ToolPart, Transcript, UserMessage

MOST: Final = 32 * 2**20  # about as many bytes of all sessions together
_OBJECTS: Final = 4_000  # bytes of a message's objects, however short its texts


class _Kept(NamedTuple):
    """The beginning of a transcript; it ends with an answer, and all of its calls are settled."""

    messages: Transcript
    size: int


class Transcripts:
    """The transcripts that were read last, as far as they are final.

    Prompts that were taken, committed answers and settled calls never change, so that only what follows the last
    final answer is read, and that answer again: where it is another one now, or gone, all is read.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._size = 0
        self._kept: OrderedDict[SessionId, _Kept] = OrderedDict()

    async def read(self, reads: Reads, session: SessionId) -> Transcript:
        """As `transcript.read`."""
        kept = self._forget(session)
        found = await self._continued(reads, session, kept) if kept else None
        if found is None:
            kept, found = None, await transcript.read(reads, session)
        self._keep(session, found, kept)
        return found

    async def _continued(self, reads: Reads, session: SessionId, kept: _Kept) -> Transcript | None:
        """What is kept with what came since; None when it does not follow."""
        last = kept.messages[-1]
        more = await transcript.read_from(reads, session, last.turn, last.step)
        if not more or more[0].id != last.id:
            return None
        return (*kept.messages, *more[1:])

    def _keep(self, session: SessionId, found: Transcript, known: _Kept | None) -> None:
        begin = len(known.messages) if known else 0
        end = _final(found, begin)
        size = (known.size if known else 0) + sum(map(_size, found[begin:end]))
        if end and size <= self._most:
            self._kept[session] = _Kept(found[:end], size)
            self._size += size
        while self._size > self._most:
            self._forget(next(iter(self._kept)))

    def _forget(self, session: SessionId) -> _Kept | None:
        kept = self._kept.pop(session, None)
        self._size -= kept.size if kept else 0
        return kept


def _final(messages: Transcript, begin: int) -> int:
    """How many messages, from the first one on, will never change; up to `begin` it is known already."""
    end = begin
    for place, message in enumerate(messages[begin:], begin + 1):
        if not all(call.state.settled for call in _calls(message)):
            break
        if isinstance(message, AssistantMessage):
            end = place
    return end


def _calls(message: Message) -> list[ToolPart]:
    if isinstance(message, UserMessage):
        return []
    return [part for part in message.parts if isinstance(part, ToolPart)]


def _size(message: Message) -> int:
    if isinstance(message, UserMessage):
        return _OBJECTS + len(message.text)
    texts = sum(len(part.text) for part in message.parts if not isinstance(part, ToolPart))
    return _OBJECTS + texts + sum(map(_weight, _calls(message)))


def _weight(call: ToolPart) -> int:
    """Characters of a call: its output, what is attached to it, and its arguments as they are written."""
    outcome = call.outcome
    given = len(str(call.arguments))
    if outcome is None:
        return given
    return given + len(outcome.output) + sum(len(str(each)) for each in (outcome.metadata, *outcome.attachments))
