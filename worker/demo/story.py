"""How a demo is told: what is said, in which tone; how a tone looks is the business of whoever shows it."""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from enum import StrEnum
from typing import Final

from activities.tools.todo import TodoWriteParams
from worker.cli.look.contents import CallContent, ask_of, call_of, note_of, part_of, prompt_of
from worker.cli.look.text import exact, line
from worker.client import Seen
from worker.demo.checks import Check
from worker.demo.evidence import Evidence
from worker.demo.kills import Kill, Recovery
from workflows.domain import events
from workflows.domain.events import Record
from workflows.domain.messages import CallState, TextPart

_LABEL: Final = 9  # characters of a label's column
_WIDE: Final = 84  # characters of a text on one line
_MARGIN: Final = " " * 6  # before what a command has printed


class Tone(StrEnum):
    """What a line is, for whoever shows it."""

    PLAIN = "plain"
    TITLE = "title"
    QUIET = "quiet"
    GOOD = "good"
    BAD = "bad"


Tell = Callable[[str, Tone, int | None], None]  # a line, its tone, and how much further right it goes on if it must;
# None for one to be copied, which is never broken


class Story:
    """Tells a demo as it happens, and what came of it."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell

    def title(self, text: str) -> None:
        self._tell("", Tone.PLAIN, 0)
        self._tell(text, Tone.TITLE, 0)

    def say(self, text: str) -> None:
        self._tell(f"  {text}", Tone.PLAIN, 0)

    def offer(self, command: str) -> None:
        """A command to be copied."""
        self._tell(f"  {command}", Tone.PLAIN, None)

    def progress(self, text: str) -> None:
        """What goes on while nothing else is to be seen."""
        self._tell(f"  {text}", Tone.QUIET, 0)

    def fact(self, label: str, text: str, tone: Tone = Tone.PLAIN) -> None:
        """A line with a word in front that says what it is about."""
        self._tell(f"  {label:<{_LABEL}} {text}", tone, _LABEL + 1)

    def moment(self, at: datetime, label: str, text: str, tone: Tone = Tone.PLAIN) -> None:
        """A line of the session's story, with its time of day."""
        start = f"{_clock(at)}  "
        self._tell(f"  {start}{label:<{_LABEL}} {text}", tone, len(start) + _LABEL + 1)

    def printed(self, command: str, output: str) -> None:
        """A command and what it printed, as a person sees it."""
        for each in (f"$ {command}", *output.splitlines()):
            self._tell(f"{_MARGIN}{each}".rstrip(), Tone.QUIET, 2)

    def seen(self, seen: Seen) -> None:
        """An event of the session, if it is one for people."""
        told = _told(seen)
        if told is not None:
            self.moment(datetime.fromisoformat(seen.record.at), *told)

    def killed(self, kill: Kill) -> None:
        number = len(kill.victims)
        which = f"process {kill.victims[0].pid}" if number == 1 else f"{number} processes"
        self.moment(kill.at, "kill -9", f"{kill.what} ({which})", Tone.BAD)

    def recovered(self, recovery: Recovery) -> None:
        self.moment(recovery.progress, "goes on", _recovery(recovery), Tone.GOOD)

    def results(self, evidence: Evidence, checks: Iterable[Check]) -> None:
        """What it took, and what was counted."""
        self.title("What it took")
        for recovery in evidence.recoveries:
            self.fact("kill -9", f"{_clock(recovery.kill.at)}  {recovery.kill.what}")
            self.fact("", f"{_clock(recovery.progress)}  {_recovery(recovery)}")
        for answer in _answers(evidence.records):
            self.fact("answered", answer)
        self.fact("model", _usage(evidence))
        self.title("Checks, counted from outside")
        for check in checks:
            tone = Tone.GOOD if check.holds else Tone.BAD
            self.fact("ok" if check.holds else "FAILED", check.claim, tone)
            self.fact("", check.figures, Tone.QUIET)


def _told(seen: Seen) -> tuple[str, str] | tuple[str, str, Tone] | None:
    """Label and text of an event; None for what only auditors look for."""
    match seen.record.event:
        case events.PromptTaken() as taken:
            return "prompt", line(prompt_of(seen, taken.prompt), _WIDE)
        case events.MessageCompleted() as message:
            return f"step {message.step}", _said(seen, message)
        case events.CallFinished() as finished:
            return _finished(seen, finished)
        case events.AskRaised() as raised:
            return "asks", f"May I {_wanted(seen, raised)}?"
        case events.AskAnswered() as answered:
            return "answered", f"{answered.reply}, by {seen.record.actor.subject}"
        case events.TurnEnded() as ended:
            said = note_of(seen, ended.note) if ended.note else ended.reason
            return "end", exact(said), Tone.PLAIN if ended.reason == "done" else Tone.BAD
        case _:
            return None


def _said(seen: Seen, message: events.MessageCompleted) -> str:
    parts = (part_of(seen, each.part) for each in message.parts)
    return line(" ".join(part.text for part in parts if isinstance(part, TextPart)), _WIDE)


def _finished(seen: Seen, finished: events.CallFinished) -> tuple[str, str, Tone]:
    call = call_of(seen, finished.call)
    if call is None:
        return "call", finished.state, Tone.QUIET
    if finished.state != CallState.DONE:
        return call.tool, f"{_label(call)} ({finished.state})", Tone.BAD
    return call.tool, _label(call) + _result(call), Tone.QUIET


def _result(call: CallContent) -> str:
    """The last line of what a command has printed."""
    lines = call.outcome.output.splitlines() if call.tool == "bash" and call.outcome else []
    return f": {line(lines[-1])}" if lines else ""


def _wanted(seen: Seen, raised: events.AskRaised) -> str:
    call, ask = call_of(seen, raised.call), ask_of(seen, raised.ask)
    verb = {"edit": "edit", "bash": "run"}.get(raised.permission, f"use {raised.permission} for")
    return f"{verb} {_label(call) if call else ', '.join(ask.request.patterns if ask else ())}"


def _label(call: CallContent) -> str:
    if call.tool == "todowrite":
        todos = TodoWriteParams.model_validate(call.arguments).todos
        return line(", ".join(f"{todo.content} ({todo.status.replace('_', ' ')})" for todo in todos), _WIDE)
    return line(call.label, _WIDE)


def _answers(records: Iterable[Record]) -> Iterator[str]:
    """When each question was answered, and by whom."""
    asked = {}
    for record in records:
        match record.event:
            case events.AskRaised(ask=ask, permission=permission):
                asked[ask] = permission
            case events.AskAnswered(ask=ask, reply=reply):
                at = _clock(datetime.fromisoformat(record.at))
                yield f"{at}  {asked[ask]}: {reply}, by {record.actor.subject} ({ask})"


def _recovery(recovery: Recovery) -> str:
    back, progress = recovery.until_back, recovery.until_progress
    return f"a new worker ({recovery.worker.pid}) after {back:.1f} s; {recovery.how} {progress:.1f} s later"


def _usage(evidence: Evidence) -> str:
    totals, tokens = evidence.totals, evidence.totals.tokens
    sent = f"{tokens.prompt:,} tokens in ({tokens.cache_read:,} of them cached)"
    return f"{totals.steps} answers, {sent}, {tokens.output:,} out, ${totals.cost.dollars:.4f} at made-up prices"


def _clock(at: datetime) -> str:
    return f"{at.astimezone():%H:%M:%S}"
