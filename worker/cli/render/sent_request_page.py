"""What a model was sent, as a page: how large each part was, then all of it."""

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from worker.cli.render.console import Row, joined, styled
from worker.cli.render.escaping import escape_exact, escape_prose, one_line
from worker.cli.render.formatting import format_past, pluralize
from worker.cli.render.text_table import format_table
from worker.cli.render.wrap import add_bar, wrap_words
from workflows.domain.generation import Purpose
from workflows.domain.sent_request import SentEntry, SentRequest

_DIGITS: Final = 16  # of a digest: enough to compare by eye


class _Content(NamedTuple):
    label: str
    text: str


def render_sent_request(sent: SentRequest, release: str, max_columns: int | None) -> Iterator[Row]:
    """`release`: ours."""
    yield styled(f"Sent to {escape_exact(sent.model)} {_purpose(sent)}", "bold")
    yield from (wrap_words(f"  {each}", max_columns, 2) for each in _facts(sent, release))
    for heading, rows in _sections(sent):
        yield ""
        yield styled(heading, "bold")
        yield from (joined("  ", row) for row in format_table(rows, None if max_columns is None else max_columns - 2))
    for each in _contents(sent):
        yield ""
        yield styled(each.label, "bold")
        yield from add_bar(escape_prose(each.text), max_columns)


def _purpose(sent: SentRequest) -> str:
    if sent.purpose is Purpose.STEP:
        return f"at turn {sent.number}, step {sent.step}"
    return f"for a {sent.purpose}"


def _facts(sent: SentRequest, release: str) -> Iterator[str]:
    attempts = f", attempt {sent.attempts:,}" if sent.attempts > 1 else ""
    yield f"{format_past(sent.at)}{attempts}, {sent.generation}"
    yield _comparison(sent, release)
    if sent.attempts > 1:
        yield "All attempts sent the same request." if sent.same else "Earlier attempts sent another request."
    counted = "there is no answer" if not sent.answered else "the provider has not counted them"
    if sent.counted is not None:
        counted = f"the provider has counted {sent.counted:,}"
    yield f"About {pluralize(sent.tokens, 'token')} by estimate; {counted}."
    if sent.choice is not None:
        yield "It had to answer without calling a tool."


def _comparison(sent: SentRequest, release: str) -> str:
    if sent.as_sent:
        return f"As it was sent (digest {sent.digest[:_DIGITS]}…)."
    differs = f"Not exactly what was sent: its digest is {sent.digest[:_DIGITS]}…, of this {sent.rebuilt[:_DIGITS]}…."
    if sent.release != release:
        made = f"Holdfast {escape_exact(sent.release)}" if sent.release else "another Holdfast"
        return f"{differs} {made} sent it; the prompts and tools of this one ({escape_exact(release)}) may be others."
    return (
        f"{differs} What it is built from has changed since: a message was deleted, a prompt shortened, a file of "
        f"this installation, or a stored row, which `holdfast log {sent.session} --verify` finds."
    )


def _sections(sent: SentRequest) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    yield "Instructions", [(_size(each.tokens), escape_exact(each.name)) for each in sent.layers]
    yield "Conversation", [(_size(each.tokens), _entry_name(each)) for each in sent.conversation]
    if sent.tools:
        yield "Tools", [(_size(each.tokens), escape_exact(each.name)) for each in sent.tools]
    if sent.left_out:
        yield "Left out", [(escape_exact(each.what), escape_exact(each.why)) for each in sent.left_out]


def _size(tokens: int) -> str:
    return f"{tokens:>9,}"


def _entry_name(entry: SentEntry) -> str:
    place = f"turn {entry.number}, step {entry.step}: " if entry.number is not None else ""
    called = [one_line(each.label) for each in _entry_contents(entry) if each.label.startswith("call ")]
    calls = f" with {pluralize(len(called), 'call')}" if called else ""
    return f"{place}{entry.name}{calls}"


def _contents(sent: SentRequest) -> Iterator[_Content]:
    yield from (_Content(escape_exact(each.name), each.text) for each in sent.layers)
    for entry in sent.conversation:
        place = f"turn {entry.number}, step {entry.step}: " if entry.number is not None else ""
        yield from (_Content(f"{place}{each.label}", each.text) for each in _entry_contents(entry))
    for tool in sent.tools:
        schema = json.dumps(tool.parameters, indent=2, ensure_ascii=False)
        yield _Content(f"tool {escape_exact(tool.name)}", f"{tool.description}\n\n{schema}")


def _entry_contents(entry: SentEntry) -> Iterator[_Content]:
    for message in entry.messages:
        match message:
            case {"role": "assistant", "parts": [*parts]}:
                yield from _answer_contents(parts)
            case {"role": "tool", "content": str(text), "failed": failed}:
                yield _Content("failed result" if failed else "result", text)
            case {"content": str(text)}:
                yield _Content(entry.name, text)
            case {"content": [*pieces]}:
                yield _Content("attached", "\n\n".join(_pieces(pieces)))


def _answer_contents(parts: Iterable[Any]) -> Iterator[_Content]:
    for part in parts:
        match part:
            case {"name": name, "arguments": arguments}:
                yield _Content(f"call {escape_exact(name)}", arguments)
            case {"type": "reasoning", "text": text}:
                yield _Content("thoughts", text)
            case {"text": text}:
                yield _Content("answer", text)


def _pieces(pieces: Iterable[Any]) -> Iterator[str]:
    for piece in pieces:
        match piece:
            case {"type": "text", "text": text}:
                yield text
            case {"type": kind, "url": url}:
                yield f"[{'picture' if kind == 'image' else 'document'}: {len(url.partition(',')[2]) * 3 // 4:,} bytes]"
