"""A session's events as lines for people; on a terminal, also what is not final yet."""

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Final, Literal, Protocol

from pydantic import JsonValue

from worker.cli.ask_dialog import answer_command
from worker.cli.render import suspension_text
from worker.cli.render.ask_preview import preview_ask
from worker.cli.render.call_result import mark_of, result_rows, result_suffix
from worker.cli.render.collapse import OUTPUT_LIMIT, collapse
from worker.cli.render.console import joined, styled
from worker.cli.render.escaping import GrowingProse, escape_exact, escape_prose, one_line
from worker.cli.render.event_contents import (
    actor_of,
    ask_name,
    call_of,
    describe_schedule_prompt,
    describe_trust,
    instructions_of,
    prompt_of,
)
from worker.cli.render.event_sentences import DIM, find_sentence
from worker.cli.render.formatting import format_upcoming, pluralize
from worker.cli.render.session_status import retry_hint
from worker.cli.render.status_line import THINKING, WAITING, StatusLine
from worker.cli.render.terminal_writer import AGAIN_NOTE, OVER_NOTE, TerminalWriter
from worker.cli.render.wrap import wrap_text
from worker.stored_contents import note_of, part_of, stored_call
from workflows.domain.events.asks import AskRaised
from workflows.domain.events.calls import CallClaimed, CallDrifted, CallFinished, CallPrepared
from workflows.domain.events.copies import MessageCopied, SessionForked, SessionImported
from workflows.domain.events.event import Event
from workflows.domain.events.generations import MessageCompleted, ModelRetry
from workflows.domain.events.prompts import PromptAccepted, PromptTaken
from workflows.domain.events.sessions import SessionSuspended
from workflows.domain.events.turns import TurnEnded, TurnOpened
from workflows.domain.ids import PartId, Prefix, SessionId
from workflows.domain.messages import FINISH_LENGTH, ReasoningPart, TextPart
from workflows.domain.prompt import PromptMode
from workflows.domain.views.deltas import PublishedDelta
from workflows.domain.views.events import EventWithContents
from workflows.domain.views.inbox import InboxEntry

_QUICK: Final = ("repeatable", "idempotent")  # such calls are shown when they are done
_FURTHER: Final = 4  # blanks before continuation rows, which may quote: no other line of ours begins so
AnswerKind = Literal["text", "reasoning"]
_HEAD: Final = "Thinking: "


class Renderer(Protocol):
    """Shows a session's events."""

    def on_event(self, seen: EventWithContents) -> None:
        """Show an event."""

    def on_delta(self, delta: PublishedDelta) -> None:
        """Show a piece of an unfinished part."""

    def on_ask(self, entry: InboxEntry) -> None:
        """Show an open ask, and how to answer it."""


class EventRenderer:
    """Shows a session to a person; escapes text of models and tools before it reaches the writer.

    `subagent` hides the hint to retry: a subagent's failed turn is retried with its parent's.
    """

    def __init__(
        self,
        writer: TerminalWriter,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        *,
        subagent: bool = False,
        status_line: StatusLine | None = None,
        thinking: bool = False,
    ) -> None:
        self.writer = writer
        self._new_answer = partial(StreamedAnswer, thinking=thinking, quote="> " if writer.live else "  ")
        self._streamed = self._new_answer()
        self._status_line = status_line or StatusLine(SessionId(""))
        self._is_subagent = subagent
        self._now = now
        self._attempts: dict[str, tuple[int, ...]] = {}
        self._completed_sources: set[str] = set()
        self._quick_calls: set[PartId] = set()
        self._asked_calls: set[PartId] = set()
        self._working = False
        self._trust_record: int | None = None  # the last one shown
        self._cut: str | None = None  # at how many tokens the newest answer was, until what follows says more

    def on_event(self, seen: EventWithContents) -> None:
        match event := seen.record.event:
            case TurnOpened():
                self._working = True
                model = " ".join(escape_exact(each) for each in (event.model, event.variant) if each)
                self._print(f"Turn {event.number} · {one_line(event.agent)} · {model}", DIM)
                self._show_trust(event)
            case TurnEnded():
                self._end_turn(event, seen)
            case ModelRetry() if event.purpose.delays_turn:
                self._show_retry(event, seen)
            case MessageCompleted() if event.turn is not None:
                self._show_answer(event, seen)
            case PromptAccepted() if self._working:  # else its turn begins with it, and shows it
                self._show_queued_prompt(event, seen)
            case PromptTaken():
                self._show_prompt(event, seen)
            case CallClaimed():
                self._show_claim(event, seen)
            case CallFinished():
                self._show_result(event, seen)
            case _:
                self._show_in_words(event, seen)

    def on_delta(self, delta: PublishedDelta) -> None:
        """A newer attempt replaces an older one, even if the answer's id differs: only one answer comes at a time."""
        if delta.source in self._completed_sources or not self.writer.live:
            return
        self._show_cut(", and continued")
        attempt = tuple(int(number) for number in delta.attempt.split("-"))
        subject = Prefix.MESSAGE if delta.source.startswith(Prefix.MESSAGE) else delta.source
        known = self._attempts.setdefault(subject, attempt)
        if attempt < known:
            return
        if attempt > known:
            self._drop_answer(AGAIN_NOTE)
            self._attempts[subject] = attempt
        self._on_piece(delta.source, delta.body)

    def on_ask(self, entry: InboxEntry) -> None:
        shown = preview_ask(entry, columns=self.writer.columns)
        for each in shown.lines:
            self.writer.write_line(each)
        if shown.hidden:
            self.writer.write_line(f"  Some of it is hidden. All of it: holdfast asks {entry.name}")
        else:
            self.writer.write_line(f"  {answer_command(entry)}")

    def _show_in_words(self, event: Event, seen: EventWithContents) -> None:
        """Other events are for auditors: see `holdfast log --events`."""
        match event:
            case SessionSuspended():
                why = suspension_text.describe_suspension(event.reason, event.was, event.now)
                self._print(f"Suspended: {why}", "yellow")
                for each in suspension_text.list_actions(seen.record.session):
                    self._print(each)
            case SessionForked() | SessionImported() | MessageCopied():
                for each in origin_rows(event, seen):
                    self._print(each, DIM)
            case CallPrepared() if event.recovery in _QUICK:
                self._quick_calls.add(event.call)
            case CallDrifted() if event.by_others:
                self._print(f"What {self._label(seen, event.call)} would do has changed since it was decided.")
            case AskRaised():
                self._show_ask(event, seen)
            case _ if sentence := find_sentence(event, seen):
                self._print(*sentence)

    def _show_ask(self, event: AskRaised, seen: EventWithContents) -> None:
        name = ask_name(seen, event.ask)
        if event.call is None:
            self._print(f"? How the turn goes on needs an answer ({name})", "yellow")
            return
        self._asked_calls.add(event.call)
        self._print(f"? {self._label(seen, event.call, name)} needs an answer ({name})", "yellow")

    def _show_trust(self, event: TurnOpened) -> None:
        """Show who accepted the configuration: once, until something else is accepted."""
        if event.trust_record != self._trust_record and not self._is_subagent:
            self._trust_record = event.trust_record
            if (trust := describe_trust(event)) is not None:
                self._print(trust, DIM)

    def _end_turn(self, event: TurnEnded, seen: EventWithContents) -> None:
        self._drop_answer(OVER_NOTE)
        self._working = False
        if event.note is None and self._cut is not None:
            self._print(
                f"! The answer was cut at {self._cut}: the model's `limit.output` is how long one may be.", "yellow"
            )
        self._cut = None
        if event.note is not None:
            self._print(f"The task failed: {escape_prose(note_of(seen, event.note))}", "red")
            if not self._is_subagent:
                self._print(f"  {retry_hint(seen.record.session)}")
        elif event.reason != "done":
            self._print(f"The turn has ended: {event.reason}.")

    def _show_retry(self, event: ModelRetry, seen: EventWithContents) -> None:
        self._drop_answer(AGAIN_NOTE)
        due, now = datetime.fromisoformat(event.next_at), self._now()
        when = f"retrying at {format_upcoming(due, now)}" if due > now else "retried"
        message = one_line(note_of(seen, event.note), 200)
        attempt = f" (attempt {event.attempt})" if event.attempt else ""
        self._print(f"{when}{attempt}: {message}", "yellow")

    def _show_cut(self, continued: str = "") -> None:
        """Show that the turn continues after an answer that was cut."""
        if self._cut is not None:
            self._print(f"… cut at {self._cut}{continued}", DIM)
        self._cut = None

    def _show_answer(self, event: MessageCompleted, seen: EventWithContents) -> None:
        self._show_cut(", and continued")
        self._completed_sources.add(event.message)
        parts = (part_of(seen, sealed.part) for sealed in event.parts if sealed.kind in ("text", "reasoning"))
        texts = ((part.type, part.text) for part in parts if isinstance(part, TextPart | ReasoningPart))
        self.writer.finalize(render_answer(texts, self._new_answer()))
        if event.finish == FINISH_LENGTH:
            tokens = event.tokens.output + event.tokens.reasoning
            self._cut = pluralize(tokens, "token") if tokens else "its limit"
        self._streamed = self._new_answer()

    def _show_queued_prompt(self, event: PromptAccepted, seen: EventWithContents) -> None:
        if event.task is not None:  # no person waits for it to be taken
            self._print(f"+ {one_line(prompt_of(seen, event.prompt))}")
            return
        how = "waits for a turn of its own" if event.mode == PromptMode.QUEUE else "joins at the next step"
        agent = f", as {one_line(event.agent)}" if event.mode == PromptMode.QUEUE and event.agent is not None else ""
        by = f", {describe_schedule_prompt(event, seen)}" if event.schedule is not None else ""
        self._print(f"+ {one_line(prompt_of(seen, event.prompt))} ({how}{agent}{by})")
        if behind := self._status_line.queued_prompts():
            self._print(f"  {behind}", "yellow")

    def _show_prompt(self, event: PromptTaken, seen: EventWithContents) -> None:
        self._show_cut()
        shown = collapse(escape_prose(prompt_of(seen, event.prompt).strip()), OUTPUT_LIMIT).text
        room = self.writer.columns
        for row in wrap_text(shown, None if room is None else room - 2):
            self.writer.write_line(styled(f"> {row}", "bold"))
        if (instructions := instructions_of(seen, event.prompt)) is not None:
            self._print(f"  With instructions of its own: {one_line(instructions)}", DIM)

    def _show_claim(self, event: CallClaimed, seen: EventWithContents) -> None:
        call = call_of(seen, event.call)
        if not event.recovered and event.call in self._quick_calls:
            return
        if event.recovered and call and call.display.kind.runs_elsewhere:
            return  # it was never interrupted
        again = " (resumed after an interruption)" if event.recovered else ""
        self._print(f"… {self._label(seen, event.call)}{again}")

    def _show_result(self, event: CallFinished, seen: EventWithContents) -> None:
        self._show_cut()
        self._completed_sources.add(event.call)
        call = call_of(seen, event.call)
        suffix = result_suffix(call, event.state)
        mark = mark_of(call, event.state)
        first, *others = wrap_text(f"{mark} {self._label(seen, event.call)}{suffix}", self.writer.columns, _FURTHER)
        self.writer.write_line(joined(mark, first.removeprefix(str(mark))))
        for further in others:
            self.writer.write_line(further)
        if call is not None:
            was_asked = event.call in self._asked_calls
            for each in result_rows(call, event.state, diff_shown=was_asked, columns=self.writer.columns):
                self.writer.write_line(each)

    def _print(self, text: str, style: str | None = None) -> None:
        """Print rows. The text may not be ours, so only the first row begins at the left edge."""
        for row in wrap_text(text.replace("\n", "\n" + " " * _FURTHER), self.writer.columns, _FURTHER):
            self.writer.write_line(styled(row, style) if style else row)

    def _on_piece(self, source: str, body: dict[str, JsonValue]) -> None:
        match body:
            case {"kind": "text" | "reasoning" as kind, "text": str(text), "part": str() | None as part}:
                self.writer.stream(self._streamed.append(kind, part, text))
                growing = "answers" if text else WAITING
                self._status_line.set_activity(growing if kind == "text" else THINKING)
            case {"kind": "call", "name": str(name)}:
                self._status_line.set_activity(f"prepares {one_line(name, 30)}")
            case {"title": str(title), "metadata": {"output": str(output)}}:
                self._status_line.set_output(source, title, output)

    def _drop_answer(self, note: str) -> None:
        """Drop the unfinished answer, which begins again or whose turn is over."""
        self.writer.retract(note)
        self._streamed = self._new_answer()

    def _label(self, seen: EventWithContents, name: PartId, ask: str | None = None) -> str:
        """The call, or what it asks a person, with room for the ask's name on its line."""
        call = call_of(seen, name)
        if call is None:
            return f"a call whose content was erased ({name})"
        room = min((self.writer.columns or 150) - 36 - len(ask or ""), 100)
        label = call.label if ask is None else call.asked
        return f"{one_line(escape_exact(call.name), 64)}  {one_line(label, max(room, 20))}"


class StreamedAnswer:
    """Joins the pieces of an answer; each line of reasoning begins with `quote`."""

    def __init__(self, *, thinking: bool, quote: str) -> None:
        self._thinking = thinking
        self._quote = quote
        self._last: tuple[AnswerKind, str | int | None] | None = None
        self._line_begins = True
        self._prose = GrowingProse()

    def append(self, kind: AnswerKind, part: str | int | None, text: str) -> str:
        if kind == "reasoning" and not self._thinking:
            return ""
        if self._last != (kind, part):
            self._prose = GrowingProse()
        if not (text := self._prose.append(text)):
            return ""
        gap = ""
        if self._last not in (None, (kind, part)):
            gap = "\n\n"
        begins, self._last = self._last != (kind, part), (kind, part)
        if kind == "text":
            return gap + text
        if begins:
            self._line_begins = True
            text = _HEAD + text
        return gap + self._quoted(text)

    def _quoted(self, text: str) -> str:
        """Blank lines stay: they end a Markdown block, which need not be redrawn."""
        lines = []
        for number, line in enumerate(text.split("\n")):
            begins = self._line_begins or number > 0
            lines.append(f"{self._quote}{line}" if begins and line else line)
            self._line_begins = begins and not line
        return "\n".join(lines)


def render_answer(parts: Iterable[tuple[AnswerKind, str]], answer: StreamedAnswer) -> str:
    """A complete answer as its pieces would have shown it; `answer` is new."""
    return "".join(answer.append(kind, number, text) for number, (kind, text) in enumerate(parts))


def origin_rows(event: SessionForked | SessionImported | MessageCopied, seen: EventWithContents) -> Iterator[str]:
    """Where the session came from; for a copied message, its texts in short and the names of its calls."""
    if isinstance(event, SessionForked):
        yield f"Begun by {actor_of(seen)} with messages of {event.origin}:"
        return
    if isinstance(event, SessionImported):
        yield f"Imported by {actor_of(seen)}: the session {one_line(event.origin)} of a file ({event.digest[:16]})."
        return
    if event.turn is None:
        yield "(a message that no model sees)"
    elif event.role == "user":
        yield from (f"> {row}" for row in _short(prompt_of(seen, event.message)))
    if event.role == "summary":
        yield "(a summary of what is before it)"
    for copied in event.contents:
        if copied.kind == "text" and isinstance(part := part_of(seen, copied.part), TextPart):
            yield from _short(part.text)
        if copied.kind == "call" and (call := stored_call(seen, copied.part)):
            yield f"· {escape_exact(call.tool)}"


def _short(text: str) -> list[str]:
    return collapse(escape_prose(text.strip()), OUTPUT_LIMIT).text.split("\n")
