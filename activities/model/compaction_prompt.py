"""The request for a summary: a conversation as plain text, and what to keep of it (opencode.md 5.3)."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from pydantic import JsonValue

from activities.store.database import dumps
from prompts import render_prompt
from workflows.domain.messages import (
    AssistantMessage,
    ContextSummary,
    Entry,
    FilePart,
    ReasoningPart,
    TextPart,
    ToolPart,
    Transcript,
    UserMessage,
)

_MOST_OUTPUT: Final = 2_000  # characters of a tool's result
# What would end or begin a block of the request, and what would pass for a message where a reader may see a line begin.
_OWN_TAG: Final = re.compile(r"<(?=[\s/]{0,9}(?:conversation|notes|todos)\b)", re.IGNORECASE)
_OWN_LABEL: Final = re.compile(
    r"(?:^|(?<=[\r\v\f\x1c-\x1e\x85\u2028\u2029]))"
    r"(?=[ \t]{0,99}\[[ \t]{0,9}(?:(?:User|Assistant|Tool)\b[^\]\n]{0,40}\][ \t]{0,9}:|Attached\b))",
    re.MULTILINE | re.IGNORECASE,
)


def compaction_request(head: Transcript, todos: Sequence[JsonValue], room: int) -> str:
    """Asks for a summary of `head`, which brings an earlier one up to date. `room`: characters for the conversation,
    of which the end is kept."""
    first = head[0]
    text = _without_tags(conversation_text(head))
    if len(text) > room:
        text = render_prompt("compaction/left_out", text=text[-room:].partition("\n")[2] or text[-room:])
    known = (
        render_prompt("compaction/earlier", summary=_without_tags(first.text))
        if isinstance(first, ContextSummary)
        else ""
    )
    listed = render_prompt("compaction/todos", todos=_without_tags(dumps(todos))) if todos else ""
    return render_prompt("compaction/request", earlier=known, todos=listed, conversation=text)


def conversation_text(entries: Iterable[Entry]) -> str:
    """Without earlier summaries and reminders."""
    return "\n\n".join(block for entry in entries for block in _blocks(entry))


def _blocks(entry: Entry) -> Iterator[str]:
    match entry:
        case UserMessage():
            yield from (
                _labelled("User", part.text) for part in entry.parts if isinstance(part, TextPart) and part.text
            )
            yield from (
                f"[Attached {_one_line(part.mime)}: {_one_line(part.filename or 'file')}]"
                for part in entry.parts
                if isinstance(part, FilePart)
            )
        case AssistantMessage():
            for part in entry.parts:
                yield from _part_blocks(part)


def _part_blocks(part: TextPart | ReasoningPart | ToolPart) -> Iterator[str]:
    match part:
        case ToolPart():
            yield _labelled("Assistant tool call", f"{part.tool}({dumps(part.arguments)})")
            if part.outcome is not None:
                kind = "Tool error" if part.outcome.error else "Tool result"
                yield _labelled(kind, _shortened(part.outcome.output))
                yield from (
                    f"[Attached {_one_line(str(each.get('mime', 'file')))}]" for each in part.outcome.attachments
                )
        case ReasoningPart(text=text) if text.strip():
            yield _labelled("Assistant reasoning", text)
        case TextPart(text=text) if text.strip():
            yield _labelled("Assistant", text)


def _shortened(output: str) -> str:
    return output if len(output) <= _MOST_OUTPUT else f"{output[:_MOST_OUTPUT]}\n[truncated]"


def _labelled(label: str, text: str) -> str:
    """Only this label begins a line: a file's content cannot speak for the person."""
    return f"[{label}]: {_OWN_LABEL.sub('> ', text)}"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _without_tags(text: str) -> str:
    """A block ends where we say."""
    return _OWN_TAG.sub("&lt;", text)
