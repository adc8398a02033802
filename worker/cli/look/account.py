"""A session's account: a night's work on one page, gathered from its log and from its subagents'."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

import click

from worker.cli.look import parking
from worker.cli.look.chapter import Asked, Chapter, lines, short, used
from worker.cli.look.contents import CallContent, ask_of, call_of, note_of, part_of, prompt_of
from worker.cli.look.standing import now
from worker.cli.look.text import counted, exact, line, moment, span
from worker.cli.look.wrap import folded
from worker.client import Overview, Seen
from workflows.domain import events
from workflows.domain.ids import AskId, MessageId, PartId, SessionId
from workflows.domain.messages import CallState, TextPart
from workflows.domain.usage import Cost, Tokens

_WHOLE: Final = 6  # of the newest turns; those before them have one line each
_LINES: Final = 20
_CHANGES: Final = ("edit", "write")


@dataclass
class Account:
    """Gathers what a session and its subagents have done: the session's log first, then the others', oldest first."""

    session: SessionId
    chapters: list[Chapter] = field(default_factory=list)
    _prompts: dict[MessageId, str] = field(default_factory=dict)
    _errands: dict[MessageId, tuple[Chapter, str]] = field(default_factory=dict)
    _retried: dict[str, str] = field(default_factory=dict)
    _chapter: Chapter | None = None
    _name: str = ""

    def waiting(self) -> list[AskId]:
        """The questions that nobody has answered."""
        return [each.ask for chapter in self.chapters for each in chapter.asked.values() if not each.said]

    def note(self, seen: Seen) -> None:
        """Take an event in."""
        event, at = seen.record.event, datetime.fromisoformat(seen.record.at)
        match event:
            case events.PromptAccepted():
                self._accepted(seen, event)
            case events.RetryAccepted():
                self._retried[event.retry] = exact(seen.record.actor.subject)
            case events.TurnOpened() if seen.record.session == self.session:
                self._opened(event, at)
            case _ if self._chapter is not None:
                self._work(self._chapter, seen, at)

    def _accepted(self, seen: Seen, event: events.PromptAccepted) -> None:
        self._prompts[event.prompt] = f"{prompt_of(seen, event.prompt)} ({exact(seen.record.actor.subject)})"
        if event.prompt in self._errands:  # a subagent goes on, for another turn perhaps
            self._chapter, self._name = self._errands[event.prompt]

    def _opened(self, event: events.TurnOpened, at: datetime) -> None:
        self._chapter = Chapter(number=event.number, begun=at)
        self.chapters.append(self._chapter)
        if event.retry is not None:
            self._chapter.prompts.append(f"retried by {self._retried.get(event.retry, 'somebody')}")

    def _work(self, chapter: Chapter, seen: Seen, at: datetime) -> None:
        match event := seen.record.event:
            case events.PromptTaken() if seen.record.session == self.session:
                chapter.prompts.append(self._prompts.get(event.prompt, "(accepted before)"))
            case events.MessageCompleted():
                self._completed(chapter, seen, event, at)
            case events.CallFinished():
                self._finished(chapter, seen, event, at)
            case events.TaskStarted():
                self._errands[event.prompt] = chapter, f"{self._name}{line(event.agent)} › "
            case events.TurnEnded() if seen.record.session == self.session:
                self._ended(chapter, seen, event, at)
            case _:
                self._asking(chapter, seen, at)

    def _completed(self, chapter: Chapter, seen: Seen, event: events.MessageCompleted, at: datetime) -> None:
        chapter.went_on(at)
        chapter.steps += 1
        chapter.tokens += event.tokens
        chapter.cost += Cost.of(event.cost)
        parts = [part_of(seen, sealed.part) for sealed in event.parts if sealed.kind == "text"]
        texts = [part.text for part in parts if isinstance(part, TextPart) and part.text.strip()]
        if texts and seen.record.session == self.session:
            chapter.said = texts[-1].strip()

    def _finished(self, chapter: Chapter, seen: Seen, event: events.CallFinished, at: datetime) -> None:
        call, state = call_of(seen, event.call), CallState(event.state)
        if call is None:
            chapter.calls["(erased)"] += 1
            return
        chapter.calls[exact(call.tool)] += 1
        if call.tool == "bash":
            ended = CallState.FAILED if state is CallState.DONE and _exit(call) else state
            chapter.ran(self._name + call.label, ended)
        if call.tool in _CHANGES and state is CallState.DONE:
            chapter.changed(call.label, *_lines_changed(call))
        if state is CallState.UNKNOWN:
            chapter.trouble(at, f"{self._label(seen, event.call)}: nobody knows whether it happened")

    def _ended(self, chapter: Chapter, seen: Seen, event: events.TurnEnded, at: datetime) -> None:
        chapter.went_on(at)
        chapter.ended, chapter.reason = at, event.reason
        if event.note is not None:
            chapter.trouble(at, f"the turn failed: {note_of(seen, event.note)}")

    def _asking(self, chapter: Chapter, seen: Seen, at: datetime) -> None:
        who = exact(seen.record.actor.subject)
        match event := seen.record.event:
            case events.AskRaised():
                chapter.asked[event.ask] = Asked(at, self._label(seen, event.call), event.ask)
            case events.AskAnswered() if event.ask in chapter.asked:
                chapter.asked[event.ask].said = _answer(seen, event, who, at - chapter.asked[event.ask].at)
            case events.AskClosed() if event.ask in chapter.asked:
                chapter.asked[event.ask].said = f"closed: {line(event.reason)}"
            case events.GrantMade() if event.ask in chapter.asked:
                rule = f"{exact(event.permission)}: {exact(', '.join(event.patterns))}"
                chapter.asked[event.ask].rule = f"{rule} in this {event.scope}"
            case _:
                self._trouble(chapter, seen, at, who)

    def _trouble(self, chapter: Chapter, seen: Seen, at: datetime, who: str) -> None:
        match event := seen.record.event:
            case events.ModelRetry():
                chapter.failed(at, exact(event.kind), line(note_of(seen, event.note), 200))
            case events.CallClaimed(recovered=True) if not _handed_down(seen, event.call):
                chapter.trouble(at, f"{self._label(seen, event.call)}: resumed after an interruption")
            case events.CallDrifted():
                chapter.trouble(at, f"{self._label(seen, event.call)}: changed after it was decided, and decided anew")
            case events.AnswerNotRun():
                chapter.trouble(at, f"{self._label(seen, event.call)}: allowed, but not run, for the turn was stopped")
            case events.AnswerRefused():
                chapter.trouble(at, f"an answer by {who} ({event.reply}) was refused: {line(event.reason, 200)}")
            case events.StopAccepted():
                chapter.trouble(at, f"stopped by {who}")
            case events.SessionParked():
                chapter.trouble(at, f"parked: {parking.why(event.reason, event.was, event.now)}")
            case events.SessionUnparked(resumed=True):
                chapter.trouble(at, f"resumed by {who}")
            case events.WriteRefused():
                chapter.trouble(at, f"a process that was thought dead wanted to write, and was refused ({event.what})")

    def _label(self, seen: Seen, call: PartId) -> str:
        found = call_of(seen, call)
        return self._name + (f"{exact(found.tool)} {line(found.label)}" if found else "(erased)")


def page(account: Account, seen: Overview, at: datetime, columns: int) -> Iterator[str]:
    """The account as one page: the newest turns whole, those before them in short, and how the session stands."""
    chapters = account.chapters
    yield click.style(line(seen.title, columns), bold=True)
    where = f"  {seen.id} in {exact(seen.directory)} · {line(seen.agent)} · {exact(seen.model or 'no model yet')}"
    yield from folded(where, columns, 2)
    yield from (f"  {each}" for each in _sum(chapters, seen, at))
    before, newest = chapters[:-_WHOLE], chapters[-_WHOLE:]
    yield from ["", f"… and {counted(len(before) - _LINES, 'turn')} before these"] if len(before) > _LINES else [""]
    yield from (short(each, columns) for each in before[-_LINES:])
    for chapter in newest:
        yield from [""] if chapter is not newest[0] or before else []
        yield from lines(chapter, columns)
    yield ""
    waiting = account.waiting()
    for each in now(seen, at, waiting[0] if waiting else None):
        yield from folded(each, columns, 2)


def _sum(chapters: list[Chapter], seen: Overview, at: datetime) -> Iterator[str]:
    if chapters:
        begun, end = chapters[0].begun, at if seen.working else seen.updated_at
        yield f"{moment(begun)} – {moment(end, begun)} ({span((end - begun).total_seconds())})"
        cost = sum((each.cost for each in chapters), Cost())
        tokens = sum((each.tokens for each in chapters), Tokens())
        yield f"{counted(len(chapters), 'turn')} · {used(sum(each.steps for each in chapters), tokens, cost)}"


def _answer(seen: Seen, event: events.AskAnswered, who: str, waited: timedelta) -> str:
    if event.by_grant is not None:
        return f"allowed by a grant of {who}"
    reply = "rejected" if event.reply == "reject" else event.reply
    ask = ask_of(seen, event.ask)
    why = f": {line(ask.feedback)}" if ask and ask.feedback else ""
    return f"{reply} by {who} after {span(waited.total_seconds())}{why}"


def _handed_down(seen: Seen, call: PartId) -> bool:
    """Whether a call is a subagent's work, which is claimed again when that is done."""
    found = call_of(seen, call)
    return found is not None and found.tool == "task"


def _exit(call: CallContent) -> bool:
    """Whether a command has ended with another status than 0."""
    return call.outcome is not None and call.outcome.metadata.get("exit") not in (None, 0)


def _lines_changed(call: CallContent) -> tuple[int, int]:
    found = call.outcome.metadata.get("filediff") if call.outcome else None
    match found:
        case {"additions": int(more), "deletions": int(less)}:
            return more, less
    return 0, 0
