"""The request for a summary: a conversation as plain text, and what to keep of it (opencode.md 5.3)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from pydantic import JsonValue

from activities.store.database import dumps
from prompts import render_prompt
from workflows.domain.context.truncate import share_out, shorten
from workflows.domain.messages import (
    AssistantMessage,
    ContextSummary,
    Entry,
    FilePart,
    ReasoningPart,
    ReminderName,
    StepReminders,
    TextPart,
    ToolPart,
    Transcript,
    UserMessage,
)
from workflows.domain.permissions import permission_keys

MOST_OF_RESULT: Final = 2_000  # characters; also of a call
_LEAST: Final = 400  # characters of a part of the conversation that say something
_PERSON: Final = "User"
_TODOS: Final = "Assistant's list of things to do"
# What would end or begin a block of the request, and what would pass for a message where a reader may see a line begin.
_OWN_TAG: Final = re.compile(r"<(?=[\s/]{0,9}(?:conversation|notes|words|system-reminder)\b)", re.IGNORECASE)
_OWN_LINES: Final = re.compile(r"^</?system-reminder>\n?", re.MULTILINE)
_OWN_LABEL: Final = re.compile(
    r"(?:^|(?<=[\r\v\f\x1c-\x1e\x85\u2028\u2029]))"
    r"(?=[ \t]{0,99}\[[ \t]{0,9}(?:(?:User|Assistant|Tool)\b[^\]\n]{0,40}\][ \t]{0,9}:|Attached\b))",
    re.MULTILINE | re.IGNORECASE,
)


class _Block(NamedTuple):
    label: str | None
    text: str

    @property
    def is_wish(self) -> bool:
        return self.label == _PERSON

    def render(self, length: int | None = None) -> str:
        """Shortened first: what a cut leaves is text like any other."""
        text = self.text if length is None else shorten(self.text, length)
        return escape_tags(text if self.label is None else _labelled(self.label, text))


def compaction_request(head: Transcript, room: int, focus: str = "") -> str:
    """The request for a summary of `head`, which updates the summary before it. `room`: characters of the whole
    request. `focus`: what to keep above all.

    A conversation that does not fit is shortened: the person's words take precedence, then the newest messages.
    """
    first, known = head[0], ""
    if isinstance(first, ContextSummary):
        words = "\n\n".join(_Block(_PERSON, each.text).render() for each in first.words)
        known = render_prompt("compaction/earlier", summary=escape_tags(first.text), words=words)
    wish = render_prompt("compaction/focus", focus=escape_tags(focus)) if focus else ""
    others = len(render_prompt("compaction/request", earlier=known, focus=wish, conversation=""))
    text = _fitting(head, max(room - others, room // 4, _LEAST))
    return render_prompt("compaction/request", earlier=known, focus=wish, conversation=text)


def change_request(conversation: Transcript, room: int) -> str:
    """Asks what was changed in a conversation, as `compaction_request` shows it. `room`: characters of the request."""
    first = conversation[0]
    known = (
        render_prompt("summary/earlier", summary=escape_tags(first.text)) if isinstance(first, ContextSummary) else ""
    )
    others = len(render_prompt("summary/request", earlier=known, conversation=""))
    text = _fitting(conversation, max(room - others, room // 4, _LEAST))
    return render_prompt("summary/request", earlier=known, conversation=text)


def _fitting(conversation: Transcript, room: int) -> str:
    blocks = [block for entry in conversation for block in _blocks(entry)]
    whole = [block.render() for block in blocks]
    if sum(map(len, whole)) <= room:
        return "\n\n".join(whole)
    texts = _wishes(blocks, room // 2)
    left = room - sum(map(len, texts.values()))
    for place in reversed(range(len(blocks))):
        if blocks[place].is_wish:
            continue
        if len(whole[place]) > left:
            if left > _LEAST:
                texts[place] = blocks[place].render(left)
            break
        texts[place] = whole[place]
        left -= len(whole[place]) + len(render_prompt("compaction/left_out"))  # perhaps beside it
    return "\n\n".join(_with_gaps(texts, len(blocks)))


def _wishes(blocks: Sequence[_Block], room: int) -> dict[int, str]:
    """The first and the newest, where there are too many."""
    places = [place for place, block in enumerate(blocks) if block.is_wish]
    most = max(room // _LEAST, 1)
    chosen = places if len(places) <= most else [places[0], *places[len(places) - most + 1 :]]
    shares = share_out([len(blocks[place].text) for place in chosen], room)
    return {place: blocks[place].render(share) for place, share in zip(chosen, shares, strict=True)}


def _with_gaps(texts: Mapping[int, str], count: int) -> Iterator[str]:
    gap = False
    for place in range(count):
        if place in texts:
            yield texts[place]
        elif not gap:
            yield render_prompt("compaction/left_out")
        gap = place not in texts


def _blocks(entry: Entry) -> Iterator[_Block]:
    match entry:
        case UserMessage():
            by = "Tool result" if entry.synthetic else _PERSON  # of a background task
            yield from (_Block(by, part.text) for part in entry.parts if isinstance(part, TextPart) and part.text)
            yield from (
                _Block(None, f"[Attached {_one_line(part.mime)}: {_one_line(part.filename or 'file')}]")
                for part in entry.parts
                if isinstance(part, FilePart)
            )
        case StepReminders():
            lists = (each.text for each in entry.reminders if each.name is ReminderName.TODOS)
            yield from (_Block(_TODOS, _OWN_LINES.sub("", text).strip()) for text in lists)
        case AssistantMessage():
            for part in entry.parts:
                yield from _part_blocks(part)


def _part_blocks(part: TextPart | ReasoningPart | ToolPart) -> Iterator[_Block]:
    match part:
        case ToolPart():
            yield _Block("Assistant tool call", shorten(f"{part.tool}({dumps(_arguments(part))})", MOST_OF_RESULT))
            if part.outcome is not None:
                kind = "Tool error" if part.outcome.error else "Tool result"
                yield _Block(kind, shorten(part.outcome.output, MOST_OF_RESULT))
                yield from (
                    _Block(None, f"[Attached {_one_line(str(each.get('mime', 'file')))}]")
                    for each in part.outcome.attachments
                )
        case ReasoningPart(text=text) if text.strip():
            yield _Block("Assistant reasoning", text)
        case TextPart(text=text) if text.strip():
            yield _Block("Assistant", text)


def _arguments(call: ToolPart) -> dict[str, JsonValue]:
    """Of a long text that an edit writes or replaces, its first line."""
    if permission_keys.current_key(call.tool) != permission_keys.EDIT:
        return call.arguments
    return {name: _first_line(value) if isinstance(value, str) else value for name, value in call.arguments.items()}


def _first_line(text: str) -> str:
    return text if len(text) <= _LEAST else f"{text.partition(chr(10))[0]}\n..."


def _labelled(label: str, text: str) -> str:
    """Only our labels begin a line, so that a file's content cannot pass for the person's words."""
    return f"[{label}]: {_OWN_LABEL.sub('> ', text)}"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def escape_tags(text: str) -> str:
    """Escape the tags that end a block of the request."""
    return _OWN_TAG.sub("&lt;", text)
