"""Transcripts cached between steps: a step reads only what is new."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Generic, NamedTuple, TypeVar

from activities.store import model_answers, prompts, transcript
from activities.store.compactions import CompactionRow
from activities.store.lru_cache import LruCache
from activities.store.queries import Queries
from activities.store.shell_outputs import with_outputs
from activities.store.statements import RowReader
from activities.store.transcript import END, StepNumber
from prompts import render_prompt
from workflows.domain.ids import MessageId, SessionId
from workflows.domain.messages import AssistantMessage, ContextSummary, Entry, ToolPart, Transcript, UserMessage

_QUERIES: Final = Queries("transcript")
MAX_BYTES: Final = 32 * 2**20  # of all sessions together, approximately
_OBJECT_BYTES: Final = 4_000  # of a message's objects, without texts


T = TypeVar("T")


class ContextMarks(NamedTuple):
    """What bounds the messages that a model sees of a session. What was read under other marks is read anew."""

    deleted: int  # messages
    summary: CompactionRow | None  # the newest


@dataclass(frozen=True)
class _CachedTranscript(Generic[T]):
    messages: Transcript
    size: int
    marks: ContextMarks
    companion: T


class TranscriptCache(Generic[T]):
    """Taken prompts, committed answers and settled calls change only when a person deletes them: a read begins at the
    last final answer, or anew if that is gone or another message was deleted.

    `make_companion`: of what is derived from a transcript, and lives with it.
    """

    def __init__(self, make_companion: Callable[[], T], max_bytes: int = MAX_BYTES) -> None:
        self._make_companion = make_companion
        self._cached: LruCache[SessionId, _CachedTranscript[T]] = LruCache(max_bytes, lambda cached: cached.size)

    def companion(self, session: SessionId) -> T:
        """What was made with the cached transcript; a new one if the transcript is not cached."""
        cached = self._cached.get(session)
        return self._make_companion() if cached is None else cached.companion

    async def read(self, reader: RowReader, session: SessionId) -> Transcript:
        """What the model sees of the session: its newest summary, if any, and what follows that."""
        cached = self._cached.pop(session)
        (row,), found = await asyncio.gather(
            reader.rows(_QUERIES.marks, session=session), self._continued(reader, session, cached)
        )
        marks = ContextMarks(row.pop("deleted_messages"), CompactionRow(**row) if row["generation"] else None)
        if found is None or cached is None or cached.marks != marks:
            cached, found = None, await read_context(reader, session, marks.summary)
        self._store(session, found, cached, marks)
        return found

    async def _continued(
        self, reader: RowReader, session: SessionId, cached: _CachedTranscript[T] | None
    ) -> Transcript | None:
        """The cached transcript with newer messages; None if these do not follow it."""
        if cached is None:
            return None
        last = cached.messages[-1]
        more = await transcript.read(reader, session, last.turn, last.step)
        if not more or more[0].id != last.id:
            return None
        return (*cached.messages, *with_outputs(more[1:]))

    def _store(
        self, session: SessionId, found: Transcript, known: _CachedTranscript[T] | None, marks: ContextMarks
    ) -> None:
        begin = len(known.messages) if known else 0
        end = _count_final(found, begin)
        size = (known.size if known else 0) + sum(map(_size, found[begin:end]))
        if end:
            companion = known.companion if known else self._make_companion()
            self._cached.put(session, _CachedTranscript(found[:end], size, marks, companion))


async def read_context(
    reader: RowReader, session: SessionId, summarised: CompactionRow | None, last: StepNumber = END
) -> Transcript:
    """What a model sees of a session after this summary, if any; `last` as in `transcript.read`."""
    if summarised is None:
        return with_outputs(await transcript.read(reader, session, last=last))
    place = summarised.model_dump(include={"turn", "step"})
    text, words, found = await asyncio.gather(
        model_answers.read_text(reader, summarised.generation),
        prompts.words(reader, session, **place, room=summarised.words),
        transcript.read(reader, session, summarised.turn, summarised.step, last),
    )
    summary = ContextSummary(id=summarised.generation, newest=summarised.newest, text=text, words=words, **place)
    shown = found if summarised.media else tuple(without_media(found, summarised.newest))
    return (summary, *with_outputs(shown[1:]))  # the summary stands for the first one, too


def without_media(messages: Transcript, newest: MessageId) -> Iterator[Entry]:
    """Up to the answer `newest`, words in place of the files of prompts and calls: a provider refused their length."""
    ended = False
    for entry in messages:
        if isinstance(entry, UserMessage) and not ended:
            yield entry.model_copy(update={"without_files": True})
        elif isinstance(entry, AssistantMessage) and not ended:
            ended = entry.id == newest
            parts = tuple(_without_media(part) if isinstance(part, ToolPart) else part for part in entry.parts)
            yield entry.model_copy(update={"parts": parts})
        else:
            yield entry


def _without_media(call: ToolPart) -> ToolPart:
    if call.outcome is None or not call.outcome.attachments:
        return call
    word = render_prompt("tools/not_attached", reason="it was left out to make room")
    output = "\n\n".join((call.outcome.output, *(word for _ in call.outcome.attachments)))
    return call.model_copy(update={"outcome": call.outcome.model_copy(update={"output": output, "attachments": ()})})


def _count_final(messages: Transcript, begin: int) -> int:
    """The first `begin` are known to be."""
    end = begin
    for index, message in enumerate(messages[begin:], begin + 1):
        if not all(call.state.settled for call in _calls(message)):
            break
        if isinstance(message, AssistantMessage):
            end = index
    return end


def _calls(message: Entry) -> list[ToolPart]:
    if not isinstance(message, AssistantMessage):
        return []
    return [part for part in message.parts if isinstance(part, ToolPart)]


def _size(message: Entry) -> int:
    """A message's size in characters, with the files that a prompt contains."""
    if isinstance(message, UserMessage):
        held = (value for part in message.parts for _, value in part if isinstance(value, str))
        return _OBJECT_BYTES + sum(map(len, (message.system or "", *held)))
    if not isinstance(message, AssistantMessage):
        return _OBJECT_BYTES + len(message.text)  # what else a summary has is short
    texts = sum(len(part.text) for part in message.parts if not isinstance(part, ToolPart))
    return _OBJECT_BYTES + texts + sum(map(_call_size, _calls(message)))


def _call_size(call: ToolPart) -> int:
    """A call's size in characters."""
    outcome = call.outcome
    arguments = len(str(call.arguments))
    if outcome is None:
        return arguments
    return arguments + len(outcome.output) + sum(len(str(each)) for each in (outcome.metadata, *outcome.attachments))
