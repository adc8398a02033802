"""The view: a transcript as a model's messages (opencode.md 5.5)."""

from collections.abc import Collection, Iterable, Iterator
from itertools import zip_longest
from typing import Final

from activities.model import media, port
from activities.model.claude_thoughts import unthought
from activities.model.prompt_shortening import shown_text
from activities.model.request_memory import AnswerMessages
from activities.store.database import dumps
from prompts import render_prompt
from workflows.domain.context.truncate import OutputLimits, truncate
from workflows.domain.ids import MessageId, PartId
from workflows.domain.messages import (
    FINISH_BROKEN_OFF,
    FINISH_PAUSE,
    AssistantMessage,
    ContextSummary,
    Entry,
    FilePart,
    ReasoningPart,
    ReminderName,
    RequestedCall,
    StepReminders,
    SubtaskPart,
    TextPart,
    ToolPart,
    Transcript,
    UserMessage,
)
from workflows.domain.reminder_tags import escape_reminders

_TEXT_ONLY: Final = port.ModelFacts()
INTERRUPTED: Final = "[Tool execution was interrupted]"
CLEARED: Final = "[Result cleared to make room. The call succeeded; repeat it only if it changes nothing.]"
_EMBEDDED: Final = OutputLimits()  # never changes: messages stay as they were sent


def convert_entries(
    transcript: Transcript,
    model: str,
    facts: port.ModelFacts = _TEXT_ONLY,
    *,
    cleared: Collection[PartId] = (),
    thoughtless: MessageId | None = None,
    known: AnswerMessages | None = None,
) -> Iterator[tuple[Entry, tuple[port.InputMessage, ...]]]:
    """The conversation's entries as messages. What follows an entry never changes its messages. Reminders that open a
    turn are in the message of the next entry.

    Leaves out what only another model's provider understands; replaces what the model cannot see by its `facts` with a
    word. `cleared`: calls without their results. `thoughtless`: the answers up to this one come without the model's
    thoughts. `known`: messages of earlier views.
    """
    known, replaced = AnswerMessages() if known is None else known, set(_replaced(transcript))
    opening, thinks = "", thoughtless is None

    def convert(answer: AssistantMessage) -> tuple[port.InputMessage, ...]:
        return tuple(_messages_of(answer, model, facts, cleared, thinks=thinks))

    for entry, following in zip_longest(transcript, transcript[1:]):
        if entry.id in replaced:
            yield entry, ()
        elif isinstance(entry, AssistantMessage):
            without = tuple(part.id for part in entry.parts if isinstance(part, ToolPart) and part.id in cleared)
            form = model, facts.images, facts.documents, without, thinks
            yield entry, known.get(entry, form, convert)
            thinks = thinks or entry.id == thoughtless
        elif isinstance(entry, ContextSummary):
            messages, behind = _summary(entry), list(_behind(entry, transcript[1:]))
            if behind and (following is None or isinstance(following, AssistantMessage)):
                messages += (port.UserInput(content="\n\n".join(behind)),)
            else:  # in one message with what follows
                opening = "".join(f"{each}\n\n" for each in behind)
            yield entry, messages
        elif isinstance(entry, StepReminders) and _opens_turn(entry, following):
            opening += f"{entry.text}\n\n"
        else:
            yield entry, (_user_input(entry, opening, facts),)
            opening = ""


def _replaced(transcript: Transcript) -> Iterator[str]:
    """Answers that broke off, and that a retry asks for anew: no prompt follows them."""
    messages = [entry for entry in transcript if not isinstance(entry, StepReminders)]
    for entry, following in zip_longest(messages, messages[1:]):
        broken = isinstance(entry, AssistantMessage) and entry.body.finish == FINISH_BROKEN_OFF
        if broken and not isinstance(following, UserMessage):
            yield entry.id


def _summary(summary: ContextSummary) -> tuple[port.InputMessage, ...]:
    """The entry as the model's own answer."""
    asked = port.UserInput(content=render_prompt("compaction/asked"))
    return asked, port.AssistantInput(parts=(TextPart(text=escape_reminders(summary.text)),))


def _behind(summary: ContextSummary, later: Transcript) -> Iterator[str]:
    """What tells of the prompts that it stands for, and that newer messages follow it."""
    if summary.words:
        words = "\n\n".join(
            f"Turn {each.number}{', while you worked' * (each.step > 1)}:\n{escape_reminders(each.text)}"
            for each in summary.words
        )
        yield render_prompt("reminders/words", words=words)
    if _answer_follows(later):
        yield render_prompt("reminders/newer")


def _answer_follows(entries: Transcript) -> bool:
    """Whether an answer follows the summary: no reminder has been recorded between them, to go on, but models take
    no two answers in a row."""
    for entry in entries:
        match entry:
            case StepReminders() if any(each.name is ReminderName.CONTINUE for each in entry.reminders):
                return False
            case StepReminders():
                continue
            case _:
                return isinstance(entry, AssistantMessage)
    return False


def _opens_turn(reminders: StepReminders, following: Entry | None) -> bool:
    """Whether they are sent in one message with the turn's prompt: some models take no two of a person in a row.

    Best effort in a retried turn, which has no prompt: one that comes between two attempts at its first step joins
    them, although the first attempt has sent them alone. No row tells which request took a prompt first.
    """
    return reminders.step == 1 and isinstance(following, UserMessage) and following.turn == reminders.turn


def _user_input(entry: UserMessage | StepReminders, opening: str, facts: port.ModelFacts) -> port.UserInput:
    """Pictures and documents that a prompt holds follow its text."""
    if isinstance(entry, StepReminders):
        return port.UserInput(content=opening + entry.text)
    pieces, reasons = media.select_embedded(entry, facts)
    notes = [escape_reminders(part.note) for part in entry.read_files if part.note and facts.images]
    notes += [render_prompt("tools/not_attached", reason=reason) for reason in reasons]
    text = opening + "\n\n".join((_text(entry), *notes))
    return port.UserInput(content=(port.TextPiece(text=text), *pieces) if pieces else text)


def _text(entry: UserMessage) -> str:
    """The prompt's text and those of its files. Wraps a person's prompt that came during its turn in a reminder."""
    texts = (_embedded_text(part) for part in entry.read_files if part.is_text)
    text = "\n\n".join((shown_text(entry), *texts))
    if any(isinstance(part, SubtaskPart) for part in entry.parts):
        text = "\n\n".join(filter(None, (text, render_prompt("reminders/subtask"))))
    if entry.mentions:
        text += "\n\n" + render_prompt("reminders/mentioned", agents=", ".join(entry.mentions))
    if entry.synthetic:
        return render_prompt("reminders/synthetic", text=text)
    return render_prompt("reminders/steered", text=text) if entry.steered else text


def _messages_of(
    message: AssistantMessage, model: str, facts: port.ModelFacts, cleared: Collection[PartId], *, thinks: bool
) -> Iterator[port.InputMessage]:
    parts = tuple(_answer_parts(message, own=message.body.model == model))
    parts = parts if thinks else tuple(unthought(parts))
    goes_on = bool(parts) and message.body.finish == FINISH_PAUSE
    if not goes_on and all(isinstance(part, ReasoningPart) for part in parts):
        return
    yield port.AssistantInput(parts=parts)
    yield from _results([part for part in message.parts if isinstance(part, ToolPart)], facts, cleared)


def _answer_parts(message: AssistantMessage, *, own: bool) -> Iterator[port.AnswerPart]:
    """The parts in order, without blank texts. Another model's thinking becomes plain text."""
    for part in message.parts:
        match part:
            case ToolPart():
                yield RequestedCall(id=part.provider_id, name=part.tool, arguments=dumps(part.arguments))
            case ReasoningPart() if own:
                yield part
            case TextPart(phase=str(), text=text) if own and text.strip():
                yield part
            case TextPart(text=text) | ReasoningPart(text=text) if text.strip():
                yield TextPart(text=text)


def _results(
    calls: Iterable[ToolPart], facts: port.ModelFacts, cleared: Collection[PartId]
) -> Iterator[port.InputMessage]:
    """Pictures and documents follow as a message of their own, which every provider takes."""
    attached: list[port.Piece] = []
    for call in calls:
        if call.id in cleared:
            yield port.ToolResultInput(call=call.provider_id, content=CLEARED)
            continue
        pieces, reasons = media.select_attachments(call, facts)
        attached += pieces
        missing = [render_prompt("tools/not_attached", reason=reason) for reason in reasons]
        output, failed = (call.outcome.model_text, call.outcome.error) if call.outcome else (INTERRUPTED, False)
        yield port.ToolResultInput(call=call.provider_id, content="\n\n".join((output, *missing)), failed=failed)
    if attached:
        yield port.UserInput(content=(port.TextPiece(text=render_prompt("tools/attached")), *attached))


def _embedded_text(part: FilePart) -> str:
    """The text of a file that a prompt contains, as `read` would show it."""
    text = part.content.decode("utf-8", "replace")
    cut = truncate(text, _EMBEDDED)
    shown = text if cut is None else cut.with_message(render_prompt("reminders/held_cut"))
    return escape_reminders(render_prompt("reminders/held", name=part.filename or "file", text=shown))
